#!/usr/bin/env python3
"""check_finds_mistakes.py ROOT BIN COMPILER FLAG...: plants one mistake of each kind in a copy of the documentation.

The check whose business it is must name it. A check that names all mistakes is given all at once."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
from typing import List, Tuple

_HERE = pathlib.Path(__file__).parent
_PAGE = "docs/glossary.md"  # To which the mistakes are added.


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
]
_NO_END = [("```cpp\nint x;\n", "has no end")]
_OF_CODE = [("/// docs/nothing.md says why.", "there is no docs/nothing.md")]
_OF_CPP = [
    (block("cpp", "NoSuchType value;"), "NoSuchType"),
    (block("cpp", "kernel.NoSuchMember();"), "NoSuchMember"),
    (block("cpp", "kernel.Launch(stream, 2.0f, x, y);"), "nodiscard"),
    (block("cpp", "class Log : public NoSuchObserver {};", "declarations"), "expected class-name"),
]
_OF_MARKS = [
    (block("cpp", "int x = 1;", "not run: "), "is no mark of a block of C++"),
    (block("cpp", "int x = 1;", "needs torch"), "is no mark of a block of C++"),
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
_OF_PACKAGES = [(block("python", "tuneonce.TunedKernel('bundles/nothing', 'cpu')"), "NotFoundError")]
_OF_HEADERS = [
    ("/// See \\ref NoSuchThing.\nint Planted(int number);", "NoSuchThing"),
    ("/// \\param nope is not there.\nint Planted(int number);", "nope"),
    ("/// Broken <b>markup.\nint Planted(int number);", "</b>"),
]
_OF_PLOTS = [("<!-- changed by hand -->", "run benchmarks/plots.py")]


def copy_tree(root: pathlib.Path, to: pathlib.Path) -> None:
    """What mistakes are planted in is copied, everything else is the tree's."""
    for path in root.iterdir():
        if path.name in ("docs", "include", "benchmarks"):
            shutil.copytree(path, to / path.name)
        elif path.suffix == ".md":
            shutil.copy(path, to / path.name)
        elif path.name not in ("build", ".git"):
            (to / path.name).symlink_to(path)


def find(tree: pathlib.Path, file: str, mistakes: List[Tuple[str, str]], command: List[str]) -> bool:
    """Plants the mistakes in `file` of the tree, and looks whether the command fails and says of each what it must."""
    path = tree / file
    original = path.read_text()
    path.write_text("\n".join([original, *[mistake for mistake, _ in mistakes], ""]))
    result = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    path.write_text(original)
    if result.returncode == 77:
        print(f"skipped: {command[0]}: {result.stdout.strip()}")
        return True
    missed = [
        mistake.strip() for mistake, message in mistakes if result.returncode == 0 or message not in result.stdout
    ]
    for mistake in missed:
        print(f"not found, exit code {result.returncode}: {mistake}\n{result.stdout}")
    return not missed


def main() -> int:
    root, programs, compiler = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], sys.argv[3:]
    python = sys.executable
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        copy_tree(root, tree)
        header = str(next(tree.glob("include/**/result.h")).relative_to(tree))
        pages = [python, str(_HERE / "check_pages.py"), folder]
        runs = [python, str(_HERE / "run_page.py"), folder, programs, _PAGE]
        check_cpp = [python, str(_HERE / "check_cpp.py"), folder, *compiler]
        cases = [
            (_PAGE, _OF_PAGES, pages),
            (_PAGE, _NO_END, pages),
            (header, _OF_CODE, pages),
            (_PAGE, _OF_CPP, check_cpp),
            (header, _OF_HEADERS, [str(_HERE / "check_doxygen.sh"), folder]),
            ("docs/plots/hit_cost.svg", _OF_PLOTS, [str(_HERE / "check_plots.sh"), folder, python]),
        ]
        cases += [(_PAGE, [mistake], check_cpp) for mistake in _OF_MARKS]  # It ends at the first.
        cases += [(_PAGE, [mistake], [*runs, "--no-package"]) for mistake in _OF_RUNS]
        if subprocess.run([python, "-c", "import tuneonce._tuneonce"], stderr=subprocess.DEVNULL).returncode == 0:
            cases += [(_PAGE, [mistake], runs) for mistake in _OF_PACKAGES]
        results = [find(tree, *case) for case in cases]
    count = sum(len(mistakes) for _, mistakes, _ in cases)
    print(f"{count} planted mistakes, {'all' if all(results) else 'NOT all'} found")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
