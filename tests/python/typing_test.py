#!/usr/bin/env python3
"""The types that the Python package says: typing_test.py ROOT [NAME ...]. Needs tuneonce and mypy; skipped (77) without mypy."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1]).resolve()
if importlib.util.find_spec("mypy") is None:
    print("SKIPPED: there is no mypy: pip install mypy")
    sys.exit(77)

import tuneonce  # noqa: E402
from running import run_tests  # noqa: E402

sys.path.insert(0, str(root / "tests/docs"))
from pages import Page  # noqa: E402

here = pathlib.Path(__file__).resolve().parent
cache = tempfile.TemporaryDirectory()  # What mypy knows of the standard library and numpy, for all programs.


def mypy(program, *options):
    """What `mypy --strict` says of a program: its lines with an error."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "program.py")
        file.write_text(program)
        run = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", here / "mypy.ini", "--cache-dir",
                              cache.name, *options, file], capture_output=True, text=True, cwd=folder)
    assert run.returncode in (0, 1), run.stdout + run.stderr
    return [line.partition("program.py:")[2] for line in run.stdout.splitlines() if ": error:" in line]


def test_the_stubs_are_exactly_what_is_there():
    run = subprocess.run([sys.executable, "-m", "mypy.stubtest", "tuneonce", "--mypy-config-file", here / "mypy.ini",
                          "--allowlist", here / "stubtest_allowlist.txt", "--ignore-unused-allowlist"],
                         capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_what_calls_return_has_a_type():
    said = mypy("""
import tuneonce
kernel = tuneonce.load("rms_norm", "cpu", store=["memory", "shipped.db"], wall_budget_ms=100, mode="stored_only")
hits: int = kernel.counters()["hits"]
seconds: float = kernel.counters()["tuning_seconds"]
records: list[tuneonce.TuningRecord[dict[str, bool | int | float | str]]] = tuneonce.records("store.db")
device: str = records[0].device
best: dict[str, int] = tuneonce.exhaustive_search([{"A": 1}], None, None, print, lambda c: (c["A"],)).best.config
missing: bool = all(finding["found"] for finding in tuneonce.doctor()["findings"])
states: set[str] = {key["state"] for key in tuneonce.warmup_all([(kernel, [(1, 2)])], deadline=1)}
version: str = tuneonce.__version__
class Told(tuneonce.Observer):
    def on_tuned(self, kernel: str, key: str, result: tuneonce.TuningRecord[dict[str, int]]) -> None:
        kinds: list[str] = [failure.kind for failure in result.failures]
        seconds: float = result.cost.wall_seconds
""")
    assert said == [], said


def test_what_is_wrong_is_an_error_of_the_type_checker():
    wrong = ['tuneonce.load("b", stroe="memory")', 'tuneonce.load("b", store=3)', 'tuneonce.load("b", mode="never")',
             'tuneonce.load("b", max_rounds="3")', 'tuneonce.load(3)', 'tuneonce.records(3)',
             'tuneonce.load("b").counters()["hist"]', 'x: str = tuneonce.load("b").counters()["hits"]',
             'tuneonce.load("b").warmup(3)', 'tuneonce.disable_autotune("no")']
    said = mypy("import tuneonce\n" + "\n".join(wrong))
    for number, line in enumerate(wrong, start=2):
        assert len([each for each in said if each.startswith(f"{number}:")]) == 1, (line, said)


def test_the_documentations_examples_are_typed():
    page = Page.read(root, "docs/python.md")
    plain, files = [], []
    for block in page.blocks():
        if block.language == "python":
            (files if block.mark.startswith("file ") else plain).append(block)
    assert len(plain) >= 6 and len(files) >= 2, "the page has examples"
    said = mypy("".join(block.text for block in plain if not block.mark.startswith("needs ")))
    assert said == [], said
    for block in [*files, *(block for block in plain if block.mark.startswith("needs "))]:
        # Kernels are cuTile's, which has no types.
        given = "import torch\nx = torch.zeros(3)\n" if block.mark.startswith("needs ") else ""
        said = mypy(given + block.text, "--allow-untyped-decorators", "--allow-untyped-defs", "--allow-incomplete-defs",
                    "--allow-untyped-calls")
        assert said == [], (block.line, said)


def test_everything_has_help_and_a_signature():
    import inspect
    missing = []
    for name in tuneonce.__all__:
        each = getattr(tuneonce, name)
        if name == "__version__":
            assert re.fullmatch(r"\d+\.\d+\.\d+", each), each
            continue
        if not (each.__doc__ or "").strip():
            missing.append(name)
        parts = vars(each).items() if isinstance(each, type) and not issubclass(each, Exception) else ()
        for part, value in parts:
            if part.startswith("_") or not (callable(value) or isinstance(value, property) or inspect.isgetsetdescriptor(value)):
                continue
            if not (value.__doc__ or "").strip():
                missing.append(f"{name}.{part}")
    assert missing == [], missing
    text = str(inspect.signature(tuneonce.TunedKernel))
    assert text.startswith("(bundle, device='cuda', *, store=None, timer=None, observer=None, ranks=None, mode='tune_on_miss'"), text
    explained = set(re.findall(r"\w+", tuneonce.TunedKernel.__doc__))
    assert set(inspect.signature(tuneonce.TunedKernel).parameters) <= explained, "each keyword is explained"
    assert str(inspect.signature(tuneonce.TunedKernel.warmup)) == "(self, /, shapes, dtypes=None, stream=None, on_done=None)"
    helped = subprocess.run([sys.executable, "-c", "import tuneonce; help(tuneonce)"], capture_output=True, text=True, check=True)
    for name in set(tuneonce.__all__) - {"__version__"}:
        assert name in helped.stdout, f"help(tuneonce) does not show {name}"


run_tests(globals(), sys.argv[2:])
