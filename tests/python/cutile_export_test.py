#!/usr/bin/env python3
"""What the cuTile exporter makes of kernels as they are found: cutile_export_test.py [NAME ...]. Needs tuneonce and cuda-tile on
PYTHONPATH, and no GPU."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from typing import Any, Dict, Optional, Sequence

import numpy as np

import tuneonce
from running import expect, run_tests
from tuneonce.export import ConstantOf, Declaration, tensor, tensors

IMPORTS = '''
from types import SimpleNamespace
import cuda.tile as ct
from tuneonce.export import ConstantOf, Declaration, dim, scalar, tensor
'''
# {decorator}, {signature}, {more}: of the kernel; {fields}: of its declaration.
COPY = IMPORTS + '''
{decorator}
def copy({signature}):
    tile = ct.load(x, index=(ct.bid(0), 0), shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO)
    {more}
    ct.store(y, index=(ct.bid(0), 0), tile=tile)

copy_bundle = Declaration(
    dims=["M", "N"], parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out")],
    grid={{"pattern": "one_d", "tiles": [["M", 1]]}}, {fields})
'''
SIGNATURE = "x, y, TILE: ct.Constant[int]"


class Exported:
    """A folder with files, and what the exporter made of them."""

    def __init__(self, files: Dict[str, str], kernel: str, *options: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", kernel, *options, "-o", "out"],
                              capture_output=True, text=True, cwd=self.root)
        self.refusal: Optional[str] = done.stderr.strip() if done.returncode != 0 else None
        if self.refusal is None:
            self.manifest: Dict[str, Any] = json.loads((self.root / "out/manifest.json").read_text())
            self.variants = {v["name"]: v for v in self.manifest["variants"]}

    def code(self, variant: str, index: int = 0) -> bytes:
        """Without the folder's name, which its debug information has."""
        code = (self.root / "out" / self.variants[variant]["artifacts"][index]["file"]).read_bytes()
        return code.replace(str(self.root.resolve()).encode(), b"")


def exported(fields: str, signature: str = SIGNATURE, more: str = "pass", decorator: str = "@ct.kernel", name: str = "copy") -> Exported:
    text = COPY.format(fields=fields, signature=signature, more=more, decorator=decorator)
    return Exported({"copy_kernel.py": text}, f"copy_kernel.py:{name}")


def accepted(each: Exported) -> Exported:
    assert each.refusal is None, each.refusal
    return each


def expect_refusal(each: Exported, *parts: str) -> None:
    assert each.refusal is not None, "it was exported"
    assert each.refusal.count("\n") == 0, each.refusal
    for part in parts:
        assert part in each.refusal, f"'{part}' is not in '{each.refusal}'"


def test_a_constant_that_is_an_extent_is_a_variant_per_value_and_no_axis():
    each = accepted(exported("constants={'WIDTH': ConstantOf('N', [96, 128])}, axes={'TILE': [64, 128]}, divisible={'M': 8}",
                             "x, WIDTH: ct.Constant[int], y, TILE: ct.Constant[int]", "tile = tile * WIDTH"))
    assert list(each.variants) == ["tile_N96", "tile_any_N96", "tile_N128", "tile_any_N128"], list(each.variants)
    assert [a["name"] for a in each.manifest["axes"]] == ["TILE"]
    for extent in (96, 128):
        for name in (f"tile_N{extent}", f"tile_any_N{extent}"):
            assumed = [a for a in each.variants[name]["assumptions"] if "extent" in a]
            assert assumed == [{"tensor": "x", "dimension": 1, "extent": extent}], assumed
            assert len(each.variants[name]["artifacts"]) == 2
    assert each.code("tile_N96") != each.code("tile_N128")
    raced = accepted(exported("constants={'WIDTH': ConstantOf('N', [96, 128])}, axes={'TILE': [64], 'backend': ['tile']}, divisible={'M': 8}",
                              "x, WIDTH: ct.Constant[int], y, TILE: ct.Constant[int]", "tile = tile * WIDTH"))
    assert [v["backend"] for v in raced.variants.values()] == ["tile"] * 4


def test_programmatic_launches_are_declared():
    text = COPY.format(fields="axes={'TILE': [64]}, programmatic_launch=True", signature=SIGNATURE, decorator="@ct.kernel",
                       more="ct.grid_dependency_control_launch_dependents()")
    text = text.replace("    tile = ct.load", "    ct.grid_dependency_control_wait()\n    tile = ct.load")
    files, kernel = {"copy_kernel.py": text}, "copy_kernel.py:copy"
    each = accepted(Exported(files, kernel, "--bytecode-version", "13.4"))
    assert each.variants["tile"]["programmatic_launch"] is True, each.variants["tile"]
    assert "programmatic_launch" not in accepted(exported("axes={'TILE': [64]}")).variants["tile"]
    expect_refusal(Exported(files, kernel, "--bytecode-version", "13.3"), "13.4")


def test_rows_that_begin_anywhere_have_variants_of_their_own():
    each = accepted(exported("axes={'TILE': [64]}, divisible={'N': 16}, unaligned=[['N']]"))
    assert list(each.variants) == ["tile", "tile_any", "tile_unaligned_N"], list(each.variants)
    assumed = each.variants["tile_unaligned_N"]["assumptions"]
    assert {"tensor": "x", "aligned": 4} in assumed and {"tensor": "x", "dimension": 1, "stride": 1} in assumed, assumed
    assert not any("stride_divisible_by" in a or "extent_divisible_by" in a for a in assumed), assumed
    assert len({each.code(name) for name in each.variants}) == 3, "what is assumed is in the code"
    for wrong in ("['M']", "['K']", "'N'", "[]"):  # Not along rows; unknown; no list; of nothing.
        expect_refusal(exported(f"axes={{'TILE': [64]}}, unaligned=[{wrong}]"), "unaligned has", "there are: N")


def test_a_constant_may_follow_from_an_extent_or_from_a_scalar_that_the_caller_passes():
    signature = "x, y, WIDE: ct.Constant[bool], ROWS: ct.Constant[int], TILE: ct.Constant[int]"
    text = COPY.format(signature=signature, more="tile = tile * ROWS if WIDE else tile", decorator="@ct.kernel",
                       fields="constants={'TILE': ConstantOf('N', [48, 64], lambda n: 1 << (n - 1).bit_length()), "
                              "'WIDE': lambda c: c['N'] > 60, 'ROWS': ConstantOf('ROWS', [2, 3])}, key=[{'value_of': 'ROWS'}]")
    text = text.replace('["M", "N"], "out")]', '["M", "N"], "out"), scalar("ROWS", "int32", warmup=2)]')
    each = accepted(Exported({"copy_kernel.py": text}, "copy_kernel.py:copy"))
    assert list(each.variants) == ["tile_N48_ROWS2", "tile_N48_ROWS3", "tile_N64_ROWS2", "tile_N64_ROWS3"], list(each.variants)
    last = each.variants["tile_N64_ROWS3"]
    assert {"scalar": "ROWS", "is": 3} in last["assumptions"] and last["parameters"] == ["x", "y"]
    assert each.code("tile_N48_ROWS2") == each.code("tile_N48_ROWS3"), "of rows that are not wide nothing is multiplied"
    assert each.code("tile_N64_ROWS2") != each.code("tile_N64_ROWS3")


def test_an_extent_that_is_no_longer_wanted_leaves_the_bundle():
    text = COPY.format(signature="x, y, N: ct.Constant[int], TILE: ct.Constant[int]", more="tile = tile * N", decorator="@ct.kernel",
                       fields="axes={'TILE': [64]}, constants={'N': ConstantOf('N', EXTENTS)}")
    each = accepted(Exported({"a.py": "EXTENTS = [64, 32]\n" + text, "b.py": "EXTENTS = [64]\n" + text}, "a.py:copy"))
    assert list(each.variants) == ["tile_N64", "tile_N32"]
    subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", "b.py:copy", "-o", "out"], cwd=each.root, check=True,
                   capture_output=True)
    assert [v["name"] for v in json.loads((each.root / "out/manifest.json").read_text())["variants"]] == ["tile_N64"]


def test_constants_that_do_not_vary_are_no_axes():
    signature = "EPS: ct.Constant[float], x, CAUSAL: ct.Constant[bool], y, TILE: ct.Constant[int], HALF: ct.Constant[int]"
    more = "tile = tile * EPS + HALF if CAUSAL else tile"
    each = accepted(exported("axes={'TILE': [64, 128], 'CAUSAL': [True]}, baseline={'TILE': 64, 'CAUSAL': True}, "
                             "constants={'EPS': 1e-5, 'HALF': lambda c: c['TILE'] // 2}", signature, more))
    assert [a["name"] for a in each.manifest["axes"]] == ["TILE"] and each.manifest["baseline"] == {"TILE": 64}
    same = accepted(exported("axes={'TILE': [64]}, constants={'EPS': 1e-5, 'CAUSAL': True, 'HALF': 32}", signature, more))
    other = accepted(exported("axes={'TILE': [64]}, constants={'EPS': 1e-5, 'CAUSAL': True, 'HALF': 31}", signature, more))
    assert each.code("tile") == same.code("tile") != other.code("tile")
    both = accepted(exported("axes={'TILE': [64], 'CAUSAL': [True, False]}, constants={'EPS': 1e-5, 'HALF': 1}", signature, more))
    assert len(both.variants["tile"]["artifacts"]) == 2
    tuples = accepted(exported("axes={'TILE': [64]}, constants={'PAIR': (2, 3)}", SIGNATURE + ", PAIR: ct.Constant[tuple[int, int]]",
                               "tile = tile * PAIR[0]"))
    assert tuples.variants["tile"]["parameters"] == ["x", "y"]


def test_a_workspace_is_an_array_of_one_dimension():
    signature = "x, sums, y, TILE: ct.Constant[int]"
    more = "ct.store(sums, index=(ct.bid(0),), tile=ct.reshape(ct.sum(tile, axis=1), (1,)))"
    text = COPY.format(signature=signature, more=more, decorator="@ct.kernel", fields="axes={'TILE': [64]}, cpu='copy.cc'")
    text = text.replace('tensor("y"', 'workspace("sums", "M", "float32"), tensor("y"').replace("scalar, tensor", "scalar, tensor, workspace")
    source = """
static void copy(const tuneonce_block& block, const float* x, float* sums, float* y) {
  sums[block.x] = x[block.x], y[block.x] = sums[block.x];
}
TUNEONCE_CPU_KERNEL(copy);"""
    each = accepted(Exported({"copy_kernel.py": text, "copy.cc": source}, "copy_kernel.py:copy"))
    assert each.variants["tile"]["parameters"] == ["x", "sums", "sums_extent", "sums_stride", "y"], each.variants["tile"]["parameters"]
    assert each.variants["cpu"]["parameters"] == ["x", "sums", "y"], "a plain pointer elsewhere"
    rounded = {"product": [16, {"ceil_div": ["M", 16]}]}
    assert each.manifest["parameters"][1] == {"name": "sums", "kind": "workspace", "dtype": "float32", "elements": rounded}
    assert each.manifest["parameters"][-2:] == [
        {"name": "sums_extent", "kind": "derived", "value": rounded, "dtype": "int32"},
        {"name": "sums_stride", "kind": "derived", "value": 1, "dtype": "int32"}]
    x, y = np.arange(5, dtype=np.float32).reshape(5, 1), np.zeros((5, 1), np.float32)
    tuneonce.TunedKernel(each.root / "out", "cpu", store="memory")(x, y)
    assert (x == y).all()
    plain = '{"name": "sums", "kind": "workspace", "dtype": "float32", "elements": %s}'

    def code_of(declared: str) -> bytes:
        files = {"copy_kernel.py": text.replace('workspace("sums", "M", "float32")', declared), "copy.cc": source}
        return accepted(Exported(files, "copy_kernel.py:copy")).code("tile")

    assert code_of(plain % '"M"') != each.code("tile"), "16 may not divide an extent that was not rounded"
    assert code_of(plain % '{"product": ["M", 32]}') == each.code("tile")


def test_configs_are_taken_as_a_tuner_lists_them():
    each = accepted(exported("configs=[SimpleNamespace(TILE=64, occupancy=2), dict(TILE=64, occupancy=None), "
                             "SimpleNamespace(TILE=128, occupancy=4)], baseline={'TILE': 64, 'occupancy': None}"))
    assert each.manifest["axes"] == [{"name": "TILE", "values": [64, 128]},
                                     {"name": "occupancy", "kind": "hint", "values": [2, 0, 4]}]
    assert each.manifest["configs"] == [{"TILE": 64, "occupancy": 2}, {"TILE": 64, "occupancy": 0}, {"TILE": 128, "occupancy": 4}]
    assert each.manifest["baseline"] == {"TILE": 64, "occupancy": 0}
    assert [a["config"] for a in each.variants["tile"]["artifacts"]] == [{"TILE": 64}, {"TILE": 128}]
    crossed = accepted(exported("configs=[{'TILE': 64}, {'TILE': 128}], hint_axes={'occupancy': [1, None]}"))
    assert len(crossed.manifest["configs"]) == 4


def test_hints_of_the_kernel_that_are_no_axes_stay_in_its_code():
    decorator = "@ct.kernel(occupancy=ct.ByTarget(sm_100=4), num_ctas=ct.ByTarget(sm_120=2))"
    kept = accepted(exported("axes={'TILE': [64]}", decorator=decorator))
    assert b"sm_100" in kept.code("tile") and b"sm_120" in kept.code("tile")
    replaced = accepted(exported("axes={'TILE': [64]}, hint_axes={'occupancy': [1, 2]}", decorator=decorator))
    assert b"sm_100" not in replaced.code("tile") and b"sm_120" in replaced.code("tile")
    assert accepted(exported("axes={'TILE': [64]}", decorator="@ct.kernel(opt_level=2)")).variants["tile"]["options"] == ["-O2"]


def test_the_environment_says_the_defaults_of_math_and_an_axis_takes_precedence():
    fields = "axes={'TILE': [64]}, tolerance={'relative': 1e-3}"
    both = fields + ", option_axes={'ftz': [False, True]}, baseline={'TILE': 64, 'ftz': False}"
    cases = [({}, fields, None), ({"TILEIR_ENABLE_FTZ": "1"}, fields, ["--ftz"]), ({"TILEIR_ENABLE_APPROX": "0"}, fields, None),
             ({"TILEIR_ENABLE_FTZ": "1", "TILEIR_ENABLE_APPROX": "1"}, fields, ["--ftz", "--approx"]),
             ({"TILEIR_ENABLE_FTZ": "1", "TILEIR_ENABLE_APPROX": "1"}, both, ["--approx"])]
    for variables, declared, options in cases:
        os.environ.update(variables)
        try:
            each = accepted(exported(declared))
        finally:
            for variable in variables:
                del os.environ[variable]
        assert each.variants["tile"].get("options") == options, (variables, each.variants["tile"].get("options"))


MODULE = IMPORTS + '''
import no_such_framework
from no_such_framework.nn import functional
from .sizes import FACTOR

class Op(no_such_framework.autograd.Function):
    @staticmethod
    def forward(ctx, x: no_such_framework.Tensor):
        return x

@no_such_framework.compile
def f(x):
    return x

@ct.kernel
def copy(x, y, TILE: ct.Constant[int]):
    ct.store(y, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)) * FACTOR)

class Tuned:
    def __init__(self, fn):
        self.fn = fn

tuned = Tuned(copy)
number = 3
'''
DECLARATION = '''
from tuneonce.export import Declaration, tensor
bundle = Declaration(dims=["N"], parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out")],
    axes={"TILE": [64]}, grid={"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]})
'''
PACKAGE = {"package/__init__.py": "", "package/ops/__init__.py": "", "package/ops/sizes.py": "FACTOR = 2\n",
           "package/ops/copy_kernel.py": MODULE, "loose/sizes.py": "FACTOR = 2\n", "loose/copy_kernel.py": MODULE,
           "ours.py": DECLARATION, "two.py": DECLARATION + "other = bundle\ncopy = bundle\ndel bundle\n"}
OURS = ("--declaration", "ours.py")
STUB = ("--stub", "no_such_framework")


def test_a_kernel_is_found_in_a_package_and_declared_elsewhere():
    for kernel in ("package.ops.copy_kernel:copy", "package/ops/copy_kernel.py:copy", "loose/copy_kernel.py:copy",
                   "package.ops.copy_kernel:tuned"):
        each = accepted(Exported(PACKAGE, kernel, *OURS, *STUB))
        assert each.manifest["name"] == kernel.partition(":")[2]
        assert each.variants["tile"]["parameters"] == ["x", "y"]


def test_what_is_not_found_is_named():
    kernel = "package.ops.copy_kernel:copy"
    for spec, options, parts in (
            (kernel, OURS, ["needs the module 'no_such_framework'", "--stub no_such_framework"]),
            (kernel, STUB, ["does not say how to export 'copy'", "--declaration"]),
            (kernel, (*STUB, "--declaration", "missing.py"), ["no file 'missing.py'"]),
            (kernel, (*STUB, "--declaration", "two.py"), ["several Declarations: other, copy", "copy_bundle"]),
            ("package.ops.copy_kernel:paste", (*STUB, *OURS), ["package.ops.copy_kernel has no 'paste'"]),
            ("package.ops.copy_kernel:number", (*STUB, *OURS), ["'number' is of the type int, and no cuTile kernel"]),
            ("package.nothing:copy", OURS, ["needs the module 'package.nothing'"]),
            ("missing.py:copy", OURS, ["no file 'missing.py'"]),
            ("copy", OURS, ["FILE.py:kernel or package.module:kernel is expected"])):
        expect_refusal(Exported(PACKAGE, spec, *options), *parts)
    expect_refusal(Exported({"broken.py": "import os\nos.fail()\n"}, "broken.py:copy"),
                   "broken.py cannot be imported: AttributeError", "broken.py:2)")
    expect_refusal(Exported({"broken.py": "\nx = (\n"}, "broken.py:copy"), "SyntaxError: '(' was never closed", "broken.py:2)")


CASES = IMPORTS + '''
@ct.kernel
def scaled(x, k, y, K: ct.Constant[int], n, TILE: ct.Constant[int]):
    row = ct.load(x, index=(ct.bid(0), 0), shape=(1, K)) * ct.load(k, index=(0,), shape=(K,)).reshape((1, K))
    ct.store(y, index=(ct.bid(0), 0), tile=row * n)

scaled_bundle = Declaration(
    dims=["N", "K"], constants={"K": ConstantOf("K", [64])}, axes={"TILE": [64]},
    grid={"pattern": "one_d", "tiles": [["N", 1]]},
    parameters=[dim("K"), tensor("x", "float32", ["N", "K"]), tensor("k", "float32", ["K"]),
                tensor("y", "float32", ["N", "K"], "out"), dim("N")])
'''


def test_names_that_differ_in_case_are_parameters_of_their_own():
    variant = accepted(Exported({"cases.py": CASES}, "cases.py:scaled")).variants["tile_K64"]
    assert variant["parameters"] == ["x", "k", "y", "N"], variant["parameters"]


def test_what_kernel_and_declaration_do_not_agree_on_is_named_in_one_line():
    width = "x, y, WIDTH: ct.Constant[int], TILE: ct.Constant[int]"
    for fields, signature, parts in (
            ("axes={'TILE': [64], 'TILE_K': [1, 2]}", SIGNATURE, ["kernel 'copy' has no constant 'TILE_K'", "without effect"]),
            ("axes={'TILE': [64]}, constants={'EPS': 1}", SIGNATURE, ["kernel 'copy' has no constant 'EPS'"]),
            ("axes={'TILE': [64]}", width, ["constant 'WIDTH' of kernel 'copy' has no value"]),
            ("axes={'TILE': [64]}", "x, y, N: ct.Constant[int], TILE: ct.Constant[int]",
             ["constant 'N' of kernel 'copy' has no value", "ConstantOf('N', [4096])"]),
            ("axes={'TILE': [64]}, constants={'WIDTH': None}", width, ["constant 'WIDTH' of kernel 'copy' is None"]),
            ("axes={'TILE': [64]}, constants={'WIDTH': lambda c: c['TILE_K']}", width,
             ["the function of constant 'WIDTH' failed", "KeyError: 'TILE_K'"]),
            ("axes={'TILE': [48]}", SIGNATURE, ["cuTile does not compile kernel 'copy' with {'TILE': 48}", "copy_kernel.py:"]),
            ("axes={'TILE': [64]}", "y, x, TILE: ct.Constant[int]", ["takes (y, x), but is declared with (x, y)"]),
            ("axes={'TILE': [64]}", "x, y, eps, TILE: ct.Constant[int]", ["takes (x, y, eps), but is declared with (x, y)"]),
            ("axes={'TILE': [64]}", "x, y: ct.Constant[int], TILE: ct.Constant[int]",
             ["'y' is a constant of kernel 'copy', not a tensor that a call passes"]),
            ("axes={'TILE': [64]}", "x: ct.IndexedWithInt64, y, TILE: ct.Constant[int]", ["'x' of kernel 'copy' is indexed with int64"])):
        expect_refusal(exported(fields, signature), *parts)
    expect_refusal(exported("axes={'TILE': [64]}", more="tile = tile * x[0]"), "'x' of kernel 'copy' is a list of arrays")


def test_what_the_folder_has_wrong_is_said():
    text = COPY.format(signature=SIGNATURE, more="pass", decorator="@ct.kernel", fields="axes={'TILE': [64]}")
    expect_refusal(Exported({"a.py": text, "out/manifest.json": "{"}, "a.py:copy"), "out/manifest.json is not a manifest", "remove it")
    expect_refusal(Exported({"a.py": text, "out/manifest.json": '{"my": "config"}'}, "a.py:copy"),
                   "is not a manifest: it has no 'name'", "remove it")
    expect_refusal(Exported({"a.py": text, "out": "a file"}, "a.py:copy"), "a.py:copy: ", "File exists: 'out'")


def hand_written(name):
    """A bundle for the CPU device alone."""
    manifest = {"tuneonce_bundle": 1, "name": name, "dims": ["N"],
                "parameters": [tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out")],
                "axes": [{"name": "TILE", "values": [64]}], "baseline": {"TILE": 64}, "variants": [{
                    "name": "cpu", "source": "cpu_cpp", "symbol": "copy", "parameters": ["x", "y"], "defines": ["TILE"],
                    "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "copy.cpu.cc"}]}]}
    code = ("static void copy(const tuneonce_block&, const float* x, float* y) {\n"
            "  for (int i = 0; i < TILE; ++i) y[i] = x[i];\n}\nTUNEONCE_CPU_KERNEL(copy);\n")
    return {"out/manifest.json": json.dumps(manifest), "out/copy.cpu.cc": code}


def test_a_bundle_that_others_wrote_is_kept():
    text = COPY.format(signature=SIGNATURE, more="pass", decorator="@ct.kernel", fields="axes={'TILE': [64]}")
    added = accepted(Exported({"a.py": text, **hand_written("copy")}, "a.py:copy"))
    assert set(added.variants) > {"cpu"}, added.variants
    assert added.variants["cpu"]["artifacts"] == [{"file": "copy.cpu.cc"}]
    files = hand_written("nanb")
    other = Exported({"a.py": text, **files}, "a.py:copy")
    expect_refusal(other, "is the manifest of the kernel 'nanb', and 'copy' was to be exported", "export to another folder")
    assert (other.root / "out/manifest.json").read_text() == files["out/manifest.json"]
    assert sorted(file.name for file in (other.root / "out").iterdir()) == ["copy.cpu.cc", "manifest.json"]


def test_tensors_that_are_alike_are_declared_at_once():
    assert tensors("q k", "float16", ["S", "D"], "inout", may_be_partial=True) == [
        tensor("q", "float16", ["S", "D"], "inout", may_be_partial=True), tensor("k", "float16", ["S", "D"], "inout", may_be_partial=True)]


MATRICES = {"dims": ["M", "N"], "parameters": [tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out")],
            "grid": {"pattern": "fixed", "blocks": [1]}}


def test_what_a_declaration_alone_gets_wrong_is_named():
    class ByTarget:
        _by_target = {"sm_90": 2}
    for fields, part in (
            ({"axes": {"TILE": list(range(48))}}, "it has 48 configs, and 30 are allowed: list the good ones in configs, or say "
                                                  "max_configs=48"),
            ({"axes": {"TILE": range(8)}, "max_configs": 7}, "it has 8 configs, and 7 are allowed"),
            ({"axes": {"TILE": 64}}, "axis 'TILE' has 64; a list of values is expected"),
            ({"axes": {"TILE": [64, None]}}, "axis 'TILE' has the value None"),
            ({"axes": {"TILE": [64]}, "constants": {"TILE": 64}}, "'TILE' is an axis and a constant"),
            ({"constants": {"TILE": [64, 128]}}, "constant 'TILE' is [64, 128]: a constant has one value"),
            ({"constants": {"K": ConstantOf("K", [4])}}, "constant 'K' is the extent of 'K', which is not a dim or scalar; those are: M, N"),
            ({"constants": {"N": ConstantOf("N", [])}}, "constant 'N' of the dim 'N' needs extents"),
            ({"constants": {"N": ConstantOf("N", [4, 4])}}, "each once and at least 1"),
            ({"constants": {"N": ConstantOf("N", [4]), "W": ConstantOf("N", [8])}}, "constant 'W' has other extents of the dim 'N'"),
            ({"configs": [{"TILE": 1, "K": 2}, {"TILE": 1}]}, "config {'TILE': 1} has no value for axis 'K'"),
            ({"configs": [{"TILE": 1, "K": 2}], "axes": {"TILE": [1]}}, "names 'K', which is not an axis; the axes are: TILE"),
            ({"configs": [{"TILE": 1}], "axes": {"TILE": [2]}}, "axis 'TILE' has the values [2], not 1"),
            ({"configs": []}, "configs is an empty list"),
            ({"configs": [64]}, "config 64 is neither a dict nor an object"),
            ({"configs": [{"TILE": 1, "occupancy": ByTarget()}]}, "a config has one value for all targets. Leave 'occupancy' out"),
            ({"hint_axes": {"occupancy": [1.5]}}, "hint 'occupancy' is 1.5; a hint is a whole number, or None"),
            ({"axes": {"TILE": [1, 2]}, "baseline": {}}, "the baseline or fallback {} has no value for axis 'TILE'"),
            ({"divisible": {"K": 16}}, "divisible names 'K', which is not a dim; the dims are: M, N"),
            ({"alignments": {"z": 8}}, "alignments names 'z', which is not a tensor; the tensors are: x, y"),
            ({"alias_groups": [["x"]]}, "the alias group ['x'] is not two or more tensors; there are: x, y"),
            ({"dims": "MN"}, "dims is a list of names"),
            ({"dims": ["M"]}, "parameter 'x' has the dim 'N', which is not one of dims: M"),
            ({"dims": ["M", "N", "K"]}, "no tensor has the dim 'K'"),
            ({"parameters": [tensor("x", "f16", ["M", "N"])]}, "parameter 'x' has the dtype 'f16'; dtypes are called bool, int8"),
            ({"parameters": ["x"]}, "parameters has 'x': tensor(...)"),
            ({"parameters": [MATRICES["parameters"][0]] * 2}, "the parameter 'x' is declared twice")):
        expect(ValueError, part, lambda fields=fields: Declaration(**{**MATRICES, **fields}))


def main(names: Sequence[str]) -> None:
    try:
        import cuda.tile  # noqa: F401
    except ImportError:
        print("SKIPPED all without cuda-tile", flush=True)
        return
    run_tests(globals(), names)


main(sys.argv[1:])
