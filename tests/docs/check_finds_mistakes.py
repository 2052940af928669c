#!/usr/bin/env python3
"""check_finds_mistakes.py ROOT BIN COMPILER FLAG...: plants one mistake of each kind in a copy of the documentation, and
expects the check whose business it is to name it."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import List

_HERE = pathlib.Path(__file__).parent
_PAGE = "docs/store.md"  # To which the mistakes are added.


def block(language: str, code: str, mark: str = "") -> str:
    above = f"<!-- test: {mark} -->\n" if mark else ""
    return f"\n{above}```{language}\n{code}\n```\n"


# (what is added, what the check must say)
_OF_PAGES = [
    ("x" * 121, "121 columns"),
    ("[there](nowhere.md)", "there is no nowhere.md"),
    ("[there](cpp.md#nothing-of-the-kind)", "no heading #nothing-of-the-kind"),
    ("[here](#nothing-of-the-kind)", "no heading #nothing-of-the-kind"),
    ("![a plot](plots/nothing.svg)", "there is no plots/nothing.svg"),
    ("`benchmarks/nothing.cc` measures it", "there is no such file"),
    (block("", "int x;"), "needs a language"),
    ("```cpp\nint x;\n", "has no end"),
]
_OF_CPP = [
    (block("cpp", "NoSuchType value;"), "NoSuchType"),
    (block("cpp", "kernel.NoSuchMember();"), "NoSuchMember"),
    (block("cpp", "kernel.Launch(stream, 2.0f, x, y);"), "nodiscard"),
    (block("cpp", "class Log : public NoSuchObserver {};", "declarations"), "NoSuchObserver"),
]
_OF_RUNS = [
    (block("sh", "tuneonce tune matmul --device cpu --no-such-option"), "--no-such-option"),
    (block("sh", "tuneonce tune matmul --device cuda --no-such-option"), "--no-such-option"),
    (block("sh", "tuneonce nothing --device cuda"), "there is no command nothing"),
    (block("sh", "tuneonce tune matmul --device cpu --shape NOPE=3"), "NOPE"),
    (block("sh", "scripts/nothing"), "no such program"),
    (block("sh", "nothing_benchmark --device=cuda"), "no program of this name"),
    (block("sh", "cmake --preset nothing"), "there is no preset nothing"),
    (block("sh", "python benchmarks/nothing.py"), "there is no benchmarks/nothing.py"),
    (block("json", '{"name": }'), "JSONDecodeError"),
    (block("cmake", "set(x (y)"), "CalledProcessError"),
    (block("python", "if True print(1)"), "SyntaxError"),
    (block("python", "import (", "needs torch"), "SyntaxError"),
]
_OF_PACKAGES = [(block("python", "tuneonce.TunedKernel('docs/examples/bundles/nothing', 'cpu')"), "NotFoundError")]
_OF_HEADERS = [
    ("/// See \\ref NoSuchThing.\nint Planted(int number);", "NoSuchThing"),
    ("/// \\param nope is not there.\nint Planted(int number);", "nope"),
    ("/// Broken <b>markup.\nint Planted(int number);", "</b>"),
]


def copy_tree(root: pathlib.Path, to: pathlib.Path) -> None:
    """Pages and headers are copied, everything else is the tree's."""
    for path in root.iterdir():
        if path.name in ("docs", "include"):
            shutil.copytree(path, to / path.name)
        elif path.suffix == ".md":
            shutil.copy(path, to / path.name)
        elif path.name not in ("build", ".git"):
            (to / path.name).symlink_to(path)


def expect(tree: pathlib.Path, file: str, mistake: str, message: str, command: List[str]) -> bool:
    path = tree / file
    original = path.read_text()
    path.write_text(f"{original}\n{mistake}\n")
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    path.write_text(original)
    if result.returncode == 77:
        print(f"skipped: {command[0]}: {result.stdout.strip()}")
        return True
    found = result.returncode != 0 and message in result.stdout
    if not found:
        print(f"not found ({result.returncode}): {mistake.strip()}\n{result.stdout}")
    return found


def main() -> int:
    root, programs, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    good = True
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        copy_tree(root, tree)
        python = sys.executable
        pages = [python, str(_HERE / "check_pages.py"), folder]
        cpp = [python, str(_HERE / "check_cpp.py"), folder, *compiler]
        runs = [python, str(_HERE / "run_page.py"), folder, programs, _PAGE]
        cases = [(m, w, pages, _PAGE) for m, w in _OF_PAGES] + [(m, w, cpp, _PAGE) for m, w in _OF_CPP]
        cases += [(m, w, [*runs, "--no-package"], _PAGE) for m, w in _OF_RUNS]
        if subprocess.run([python, "-c", "import tuneonce._tuneonce"], stderr=subprocess.DEVNULL).returncode == 0:
            cases += [(m, w, runs, _PAGE) for m, w in _OF_PACKAGES]
        header = next(p for p in tree.glob("include/**/status.h"))
        doxygen = [str(_HERE / "check_doxygen.sh"), folder]
        cases += [(m, w, doxygen, str(header.relative_to(tree))) for m, w in _OF_HEADERS]
        for mistake, message, command, file in cases:
            good = expect(tree, file, mistake, message, command) and good
    print(f"{len(cases)} planted mistakes, {'all' if good else 'NOT all'} found")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
