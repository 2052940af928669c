"""The runner of benchmarks/public_kernels: its list, its table on results made up here, and whole runs with a kernel of
our own, exported, and raced on the CPU device against a home in Python.

runner_test.py BENCHMARKS_PUBLIC_KERNELS_FOLDER [NAME ...]. Needs tuneonce, numpy, cuda-tile.
"""
import ast
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import types
import unittest.mock
from typing import Any, Dict, List, Tuple

FOLDER, OWN = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(__file__).resolve().parent / "own"
sys.path[:0] = [str(FOLDER), str(pathlib.Path(__file__).resolve().parent.parent / "python")]

import cut_outs  # noqa: E402
import home  # noqa: E402
import kernel_list  # noqa: E402
import measuring  # noqa: E402
import numpy as np  # noqa: E402
import ratio  # noqa: E402
import report  # noqa: E402
import tuneonce  # noqa: E402
from case import Case  # noqa: E402
from running import expect, run_tests  # noqa: E402

LIST = kernel_list.read(FOLDER / "kernels.json")


def count(package: str) -> int:
    return sum(kernel.package == package for kernel in LIST)


def test_the_list_has_what_it_promises() -> None:
    assert len(LIST) >= 40 and len({kernel.id for kernel in LIST}) == len(LIST)
    assert (count("tilegym") >= 24 and count("liger") >= 8 and count("flag_gems") >= 4 and count("tutorials") >= 4)
    assert {"moe", "mla", "paged", "grouped"} <= {kernel.family for kernel in LIST if kernel.package == "tilegym"}
    for kernel in LIST:
        assert kernel.version and kernel.line > 0 and kernel.file.endswith(".py"), kernel.id
        assert len(kernel.shapes) == 2 and kernel.shapes[0] != kernel.shapes[1], kernel.id


def test_each_kernel_of_the_list_has_a_case_and_no_declaration_is_long_or_of_no_kernel() -> None:
    functions = {
        file.stem: {n.name
                    for n in ast.parse(file.read_text()).body
                    if isinstance(n, ast.FunctionDef)}
        for file in (FOLDER / "cases").glob("*.py")}
    for kernel in LIST:
        modules = [names for stem, names in functions.items() if stem.startswith(kernel.package)]
        assert any(kernel.name in names for names in modules), kernel.id
    declared = {file.relative_to(FOLDER / "declarations") for file in (FOLDER / "declarations").rglob("*.py")}
    assert declared <= {pathlib.Path(kernel.package) / f"{kernel.name}.py" for kernel in LIST}
    long = {str(file): kernel_list.lines_of(FOLDER / "declarations" / file) for file in declared}
    assert all(lines <= 10 for lines in long.values()), {file: lines for file, lines in long.items() if lines > 10}


def test_lines_of_a_declaration_are_those_of_its_statements() -> None:
    assert kernel_list.lines_of(OWN / "declarations" / "own" / "scale.py") == 6


def test_a_script_is_cut_to_its_kernels_and_what_they_use_which_stay_on_their_lines() -> None:
    script = """import os, triton
import tabulate
x = DEVICE = driver.active.device()
TILES = sizes()
def sizes():
    return os.cpu_count()
@triton.autotune(
    TILES)
@triton.jit
def kernel(x):
    return triton.language.load(x)
def host(x):
    return kernel[DEVICE](x)
print(host(1))
"""
    cut = kernel_list.definitions_of(script)
    for gone in ("tabulate", "DEVICE", "host", "print"):
        assert gone not in cut, (gone, cut)
    kept, before = cut.split("\n"), script.split("\n")
    assert [number for number, row in enumerate(kept) if row] == [0, 3, 4, 5, 6, 7, 8, 9, 10], cut
    assert all(row in ("", before[number]) for number, row in enumerate(kept[:len(before)]))


def test_a_kernel_is_cut_out_of_its_package_with_what_it_uses() -> None:
    files = {
        "ops/deep.py": """import torch
from ..shared import TILE, scale
if IS_HIP:
    def rounded(x): return torch.round(x)
else:
    @triton.jit
    def rounded(x): return scale(x, TILE)
def build():
    import triton
    @triton.jit
    def inner(x):
        return x
    return inner
@triton.jit
def other(x):
    return torch.nothing(x)
@triton.jit
def kernel(x):
    return rounded(x)
""",
        "shared.py": "import triton\nTILE = 4\nUNUSED = missing()\n@triton.jit\ndef scale(x, by):\n    return x * by\n"}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            file = pathlib.Path(folder, "package", "package", name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        cut = cut_outs.cut(pathlib.Path(folder), "package", "package/ops/deep.py", {"kernel"})
        for kept in ("TILE = 4", "def scale(x, by):", "return scale(x, TILE)", "def kernel(x):", "import triton"):
            assert kept in cut, (kept, cut)
        for gone in ("torch", "UNUSED", "shared", "IS_HIP", "other", "inner"):
            assert gone not in cut, (gone, cut)
        inner = cut_outs.cut(pathlib.Path(folder), "package", "package/ops/deep.py", {"inner"}, "build")
        assert inner.split("\n")[:3] == ["import triton", "@triton.jit", "def inner(x):"], inner


def test_the_interval_of_a_ratio() -> None:
    for degrees, quantile in ((4, 2.776), (9, 2.262), (19, 2.093), (100, 1.984)):
        assert abs(ratio.student_t(degrees) / quantile - 1) < 0.01, degrees
    same = ratio.ratio_of([(2.0, 1.0)] * 5)
    assert same.low == same.mean == same.high and abs(same.mean - 2) < 1e-12
    mixed = ratio.ratio_of([(1.0, 1.0), (1.1, 1.0), (0.9, 1.0), (1.0, 1.0)])
    assert mixed.low < 0.93 < mixed.mean < 1.0 < mixed.high
    # A machine that slows both down in turns says nothing of the ratio.
    drifting = ratio.ratio_of([(1.0, 1.0), (5.0, 5.0), (2.0, 2.0)])
    assert drifting.low == drifting.high == 1.0


def case_of(y: Any) -> Case:
    return Case({"y": y}, ["y"], lambda: {})


def test_results_are_compared_with_the_reference_or_else_with_home() -> None:
    right, wanted = np.ones(4, np.float32), np.ones(4, np.float32)
    off, broken = np.array([1, 1, 1, 1.5], np.float32), np.array([1, 1, 1, np.nan], np.float32)
    # What ours computed, what home did, the reference; the error, and what is wrong.
    table: List[Tuple[Any, Any, Dict[str, Any], float, List[str]]] = [
        (right, right, {"y": wanted}, 0.0, []),
        (off, right, {"y": wanted}, 0.5, ["y"]),
        (off, off, {"y": wanted}, 0.5, []),  # Home does it, too.
        (off, right, {}, 0.5, ["y"]),  # No reference.
        (broken, right, {"y": wanted}, float("inf"), ["y"]),
        (off, right, {"y": np.array([1, 1, 1, np.nan])}, 0.0, []),  # Anything may stand there.
    ]
    for ours, home, expected, error, wrong in table:
        found = measuring.errors_of(case_of(ours), case_of(home), expected)
        assert (found["error"], found["wrong"]) == (error, wrong), (ours, home, expected, found)


def test_a_bundle_without_buckets_is_not_copied_and_one_with_them_loses_them() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bundle, copy = pathlib.Path(folder) / "bundle", pathlib.Path(folder) / "copy"
        bundle.mkdir()
        for key, expected in (([{"dim": "N"}], None), ([{"dim": "N", "bucket": "next_pow2"},
                                                        {"dim": "M"}], [{"dim": "N"}, {"dim": "M"}])):
            (bundle / "manifest.json").write_text(json.dumps({"key": key}))
            without = measuring.without_buckets(bundle, copy)
            assert (None if without is None else json.loads((without / "manifest.json").read_text())["key"]) == expected


def measured(name: str, mean: float, low: float, **more: Any) -> Dict[str, Any]:
    shape = {
        "shape": {"N": 4}, "ours_us": mean, "home_us": 1.0, "ratio": mean, "low": low, "high": mean + 0.01, "error":
        0.0, "home_error": 0.0, "wrong": [], "cold_s": 1.0, "home_cold_s": 4.0, **more}
    return {"kernel": name, "exported": True, "declaration_lines": 7, "shapes": [shape], "regret": None}


def test_the_table_shows_refusals_then_failures_then_the_slowest_first() -> None:
    results = [
        measured("p/even", 1.0, 0.99),
        measured("p/slow", 1.1, 1.05),
        measured("p/noisy", 1.3, 1.01), {"kernel": "p/refused", "exported": False, "refusal": "it says why"},
        {**measured("p/failed", 1.0, 0.99), "shapes": [], "failure": "out of memory"},
        measured("p/wrong", 0.9, 0.9, wrong=["y"]),
        measured("p/late", 0.95, 0.9, cold_s=2.0)]
    text = report.table(results)
    order = re.findall(r"p/\w+", text)
    assert order[:9] == [
        "p/refused", "p/failed", "p/failed", "p/noisy", "p/slow", "p/even", "p/late", "p/wrong", "p/slow"], order
    lines = {re.findall(r"p/\w+", line)[0]: line for line in text.split("\n") if line.startswith("| p/")}
    assert "SLOW" in lines["p/slow"] and "SLOW" not in lines["p/noisy"] and "WRONG" in lines["p/wrong"]
    assert "refused: p/refused: it says why" in text and "failed: p/failed: out of memory" in text
    assert report.goals(results) == [
        "exported: 6 of 7, by declarations of at most 7 lines", "measured: 5 kernels, 5 shapes",
        "slower than home by more than 2 %: 1: p/slow", "wrong results: 1: p/wrong",
        "cold tune above a third of home's: 1: p/late"]
    assert not report.is_good(results) and report.is_good(results[:1])


class FakeTriton:
    """Stands in for a Triton kernel, plain or tuned: notes its launches."""

    def __init__(self, names: List[str]):
        self.arg_names, self.launched = names, []

    def __getitem__(self, grid: Any) -> Any:
        return lambda *ahead, **named: self.launched.append((grid({"BLOCK": 8, "num_warps": 4}), ahead, named))


def fake_modules(**modules: Any) -> Any:
    made = {}
    for name, content in modules.items():
        made[name.replace("__", ".")] = types.SimpleNamespace(**content)
    return unittest.mock.patch.dict(sys.modules, made)


def test_a_triton_kernel_is_called_at_home_as_packages_do() -> None:

    def autotune(configs: List[Any], key: List[str]) -> Any:
        tuned.append((configs, key))
        return lambda kernel: kernel

    tuned: List[Any] = []
    config = lambda constants, **options: (constants, options)  # noqa: E731
    arguments = {"x": 1, "n": 2, "MODE": 3}
    two = [{"BLOCK": 8, "num_warps": 4}, {"BLOCK": 16, "num_warps": 8}]
    # The case's configs, what the tuner got, and the launch: by position while the names follow, then by name.
    cases: List[Tuple[Any, List[Any], Tuple[Any, ...]]] = [
        (two[:1], [], ((3,), (1, 2), {"MODE": 3, "BLOCK": 8, "num_warps": 4})),
        (two, [([({"BLOCK": 8}, {"num_warps": 4}), ({"BLOCK": 16}, {"num_warps": 8})], [])], ((3,), (1, 2), {"MODE":
                                                                                                             3})),
        (None, [], ((3,), (1, 2), {"MODE": 3})),  # It tunes itself.
    ]
    for configs, searched, launched in cases:
        tuned.clear()
        kernel = FakeTriton(["x", "n", "BLOCK", "MODE"])
        with fake_modules(triton={"autotune": autotune, "Config": config}):
            at_home = home.TritonHome(kernel)
            at_home.tune(Case(arguments, [], dict, lambda c: (c["BLOCK"] - 5,), configs))
        assert tuned == searched and kernel.launched == [launched], (tuned, kernel.launched)


def test_a_cutile_kernel_is_searched_and_launched_at_home_with_its_names_in_order_and_hints_apart() -> None:

    class Kernel:

        def __init__(self, hints: Any = None):
            self.hints = hints

        def replace_hints(self, **hints: Any) -> "Kernel":
            return Kernel(hints)

    Kernel._pyfunc = staticmethod(lambda y, TILE, x: None)  # What inspect sees.
    launches: List[Any] = []

    def search(configs: Any, stream: Any, grid: Any, kernel: Any, arguments: Any, hints: Any, quiet: bool) -> Any:
        launches.append([(grid(c), arguments(c), hints(c)) for c in configs])
        return types.SimpleNamespace(best=types.SimpleNamespace(config=configs[1]))

    tile = {
        "tune": types.SimpleNamespace(exhaustive_search=search), "compiler_timeout": lambda s: contextlib.nullcontext(),
        "launch": lambda stream, grid, kernel, arguments: launches.append((grid, kernel.hints, arguments))}
    torch = {"cuda": types.SimpleNamespace(current_stream=lambda: "stream")}
    configs = [{"TILE": 1, "occupancy": None}, {"TILE": 2, "occupancy": 4}]
    with fake_modules(torch=torch, cuda={"tile": types.SimpleNamespace(**tile)}, cuda__tile=tile):
        at_home = home.CutileHome(Kernel())
        at_home.tune(Case({"x": "X", "y": "Y"}, [], dict, lambda c: [c["TILE"] * 10], configs))
    assert launches[0] == [([10], ("Y", 1, "X"), {}), ([20], ("Y", 2, "X"), {"occupancy": 4})], launches
    assert launches[1] == ((20,), {"occupancy": 4}, ("Y", 2, "X")) and len(launches) == 2


def run(work: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    packages = work / "packages" / "own_kernels"
    packages.mkdir(parents=True, exist_ok=True)
    (packages / "__init__.py").touch()
    shutil.copy(OWN / "kernels.py", packages / "kernels.py")
    return subprocess.run(
        [sys.executable,
         str(FOLDER / "run.py"), "--work",
         str(work), "--list",
         str(OWN / "kernels.json"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=1200)


def test_exporting_only_says_what_is_refused_and_goes_on_where_it_ended() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        first = run(work, "--export-only", "--only", "own/scale", "own/absent")
        assert first.returncode == 1 and "own/scale: exported" in first.stdout, first.stdout + first.stderr
        assert "refused: own/absent: there is no declaration declarations/own/absent.py" in first.stdout
        second = run(work, "--export-only", "--only", "scale", "refused")
        assert "own/scale: exported" not in second.stdout, "it was exported before"
        refusal = re.search(r"refused: own/refused: (.*)", second.stdout)
        assert refusal and "factor" in refusal[1] and "traceback" not in refusal[1], second.stdout
        results = {r["kernel"]: r for r in report.read_results(work / "exports.jsonl")}
        assert set(results) == {"own/scale", "own/absent", "own/refused"}
        assert results["own/scale"]["declaration_lines"] == 6 and not (work / "bundles/own/refused").exists()
        made = (work / "bundles/own/scale/manifest.json").stat().st_mtime_ns
        run(work, "--export-only", "--only", "scale", "--again")
        assert (
            work /
            "bundles/own/scale/manifest.json").stat().st_mtime_ns == made, "the same declaration needs no other export"
        assert run(work, "--only", "nonsense").returncode == 2


def test_a_kernel_is_raced_against_its_home_and_one_that_dies_does_not_end_the_run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        done = run(work, "--device", "cpu", "--json", str(work / "all.json"), "--only", "scale", "other", "stumbles",
                   "dies")
        results = {r["kernel"]: r for r in json.loads((work / "all.json").read_text())["kernels"]}
        logs = "\n".join(file.read_text() for file in (work / "logs").iterdir())
        assert "failure" not in results["own/scale"], (results["own/scale"], logs)
        shapes = results["own/scale"]["shapes"]
        assert [s["shape"]["N"] for s in shapes] == [4096, 65536]
        for shape in shapes:
            assert shape["error"] == 0 and not shape["wrong"] and shape["samples"] == measuring.SAMPLES
            assert 0 < shape["low"] <= shape["ratio"] <= shape["high"] and shape["cold_s"] > 0 and shape["ours_us"] > 0
        regret = results["own/scale"]["regret"]
        assert regret["shape"] == {"N": 49152} and regret["low"] <= regret["ratio"] <= regret["high"]
        assert results["own/other"]["shapes"][0]["wrong"] == ["y"] and "WRONG" in done.stdout
        assert results["own/stumbles"]["failure"] == "{'N': 4095}: the reference: ValueError: no odd shapes"
        assert [s["shape"]["N"] for s in results["own/stumbles"]["shapes"]] == [4096], "the other shape is measured"
        assert "exit code 7" in results["own/dies"]["failure"] and results["own/dies"]["exported"]
        assert done.returncode == 1


def test_with_seeds_each_shape_is_tuned_with_the_data_of_each_and_nothing_is_raced() -> None:
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        done = run(work, "--device", "cpu", "--seeds", "2", "--only", "scale", "other")
        results = {r["kernel"]: r for r in report.read_results(work / "results.jsonl")}
        shapes = results["own/scale"]["shapes"]
        assert [(s["shape"]["N"], s["seeds"], s["incorrect"], s["wrong"]) for s in shapes] == [(4096, 2, [], []),
                                                                                              (65536, 2, [], [])]
        assert not any("ratio" in s for s in shapes) and "own/scale: 2 seeds: correct" in done.stdout, done.stdout
        wrong = results["own/other"]["shapes"][0]["wrong"]
        assert [line.rsplit(":", 1)[0] for line in wrong] == ["seed 0: y", "seed 1: y"], wrong
        assert done.returncode == 1 and "wrong results: 1: own/other" in done.stdout, done.stdout


def test_a_kernel_that_takes_too_long_is_ended() -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = run(pathlib.Path(folder), "--export-only", "--only", "scale", "--time-limit", "0.05")
        assert "ran longer than 0.05 s" in done.stdout, done.stdout


def tile_cpp_list() -> List[Any]:
    with unittest.mock.patch.object(sys, "path", [str(FOLDER / "tile_cpp"), *sys.path]):
        import tile_kernel
    return tile_kernel.read_list()


def test_each_tile_cpp_kernel_has_a_case_and_a_manifest_that_loads() -> None:
    cases = ast.parse((FOLDER / "tile_cpp" / "cases.py").read_text())
    names = {node.name for node in cases.body if isinstance(node, ast.FunctionDef)}
    names |= {target.id for node in cases.body if isinstance(node, ast.Assign) for target in node.targets
              if isinstance(target, ast.Name)}
    kernels = tile_cpp_list()
    assert len(kernels) >= 20 and len({kernel.name for kernel in kernels}) == len(kernels)
    for kernel in kernels:
        assert kernel.name in names, kernel.name
        with tempfile.TemporaryDirectory() as folder:
            bundle = pathlib.Path(folder)
            for file in ("kernel.cu", *kernel.headers()):
                (bundle / file).write_text("")
            (bundle / "manifest.json").write_text(json.dumps(kernel.manifest()))
            assert tuneonce.Bundle(bundle).name == kernel.name
        for shape in kernel.shapes:
            assert set(kernel.dims) <= set(shape), kernel.name
            for config in kernel.configs():
                assert min(kernel.grid(shape, config, 132)) >= 1 and "$" not in kernel.instance(shape, config)


def test_a_tile_cpp_instance_has_its_extents_and_config_in_place() -> None:
    matmul = next(kernel for kernel in tile_cpp_list() if kernel.name == "matmul")
    config = {"TILE_SIZE_M": 128, "TILE_SIZE_N": 64, "TILE_SIZE_K": 32}
    assert matmul.instance({"M": 1000, "N": 1032, "K": 520}, config) == (
        "matmul_kernel<__half, 1000, 1032, 520, 128, 64, 32, 8, (520 + 32 - 1) / 32, false, false, 1, 1>")
    assert matmul.grid({"M": 1000, "N": 1032, "K": 520}, config, 132) == (8 * 17, 1, 1)
    extents = [a for a in matmul.manifest()["variants"][0]["assumptions"] if "extent" in a]
    assert [a["extent"] for a in extents] == [1000, 520, 1032]


def test_a_pattern_of_no_kernel_is_said() -> None:
    expect(ValueError, "no kernel of the list has 'nonsense'", lambda: kernel_list.chosen(LIST, ["nonsense"]))


if __name__ == "__main__":
    run_tests(globals(), sys.argv[2:])
