#!/usr/bin/env python3
"""The Triton exporter where Triton has a Tile IR back end, for which a substitute returns recorded bytecode: triton_tile_ir_test.py
[NAME ...]. Needs tuneonce and triton on PYTHONPATH, but no GPU; exits with 77 without triton. The back end itself was not tried."""
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import tempfile

from running import run_tests

if importlib.util.find_spec("triton") is None:
    print("SKIPPED: there is no triton on PYTHONPATH (scripts/install_dependencies --tests fetches it)")
    sys.exit(77)

CACHE = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = CACHE.name
import triton_tile_ir_substitute  # noqa: E402
from triton.runtime import driver  # noqa: E402
from triton_tile_ir_substitute import RECORDED, Fallback  # noqa: E402
from tuneonce.export import __main__ as exporter  # noqa: E402

triton_tile_ir_substitute.install()
HERE = pathlib.Path(__file__).parent


class Export:
    """What the exporter wrote and printed of one kernel, and the calls of the back end."""

    def __init__(self, kernel, file="triton_tile_ir_kernels.py", folder=None, **variables):
        self._own, Fallback.calls = tempfile.TemporaryDirectory(), []
        self.folder = folder or pathlib.Path(self._own.name)
        notes, self.error = io.StringIO(), None
        sys.argv = ["tuneonce.export", "triton", f"{HERE / file}:{kernel}", "-o", str(self.folder)]
        os.environ.update({"ENABLE_TILE": "1", **variables})
        try:
            with contextlib.redirect_stderr(notes), contextlib.redirect_stdout(io.StringIO()):
                exporter.main()
        except SystemExit as exit:
            self.error = exit.code
        finally:
            self.left = {n: os.environ.pop(n) for n in {"ENABLE_TILE", *variables}}
        self.notes, self.calls = notes.getvalue(), Fallback.calls
        file = self.folder / "manifest.json"
        self.manifest = json.loads(file.read_text()) if file.exists() else None
        self.variants = {v["name"]: v for v in self.manifest["variants"]} if self.manifest else {}

    def configs(self, backend):
        return [{n: v for n, v in c.items() if n != "backend"} for c in self.manifest["configs"] if c["backend"] == backend]

    def axes(self):
        return {a["name"]: (a.get("kind"), a["values"]) for a in self.manifest["axes"]}

    def code(self, variant="triton_tile_sm90"):
        return {tuple(a["config"].items()): (self.folder / a["file"]).read_bytes() for a in self.variants[variant]["artifacts"]}


def is_refused(kernel, *parts, **more):
    export = Export(kernel, **more)
    assert export.error is not None and "\n" not in export.error and export.manifest is None, (kernel, export.error)
    for part in parts:
        assert part in export.error, f"'{part}' is not in '{export.error}'"


@contextlib.contextmanager
def back_end(**changes):
    """Within the block the substitute has other attributes."""
    before = {name: Fallback.__dict__[name] for name in changes}
    for name, value in changes.items():
        setattr(Fallback, name, staticmethod(value) if callable(value) else value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(Fallback, name, value)


def test_tile_ir_races_with_ptx():
    export = Export("copied")
    assert list(export.variants) == ["triton_sm90", "triton_sm90_any", "triton_tile_sm90", "triton_tile_sm90_any"], export.error
    assert {n: v["backend"] for n, v in export.variants.items()} == {
        "triton_sm90": "triton", "triton_sm90_any": "triton", "triton_tile_sm90": "triton_tile", "triton_tile_sm90_any": "triton_tile"}
    assert export.axes()["backend"][1] == ["triton", "triton_tile"]
    assert export.configs("triton") == [{"BLOCK": b, "num_warps": w} for b in (256, 1024) for w in (2, 4)]
    assert export.configs("triton_tile") == [{"BLOCK": b, "num_warps": 0} for b in (256, 1024)], "warps are the compiler's"
    assert export.manifest["baseline"] == {"backend": "triton", "BLOCK": 256, "num_warps": 4}


def test_the_bytecode_is_declared_as_triton_calls_it():
    export = Export("copied")
    usual, general = export.variants["triton_tile_sm90"], export.variants["triton_tile_sm90_any"]
    for variant in (usual, general):
        assert (variant["source"], variant["convention"], variant["parameters"]) == ("tile_ir", "plain", ["x", "y", "N"])
        assert not {"block", "shared_memory", "cluster", "programmatic_launch", "options"} & {*variant, *variant["artifacts"][0]}
        assert [a["symbol"] for a in variant["artifacts"]] == ["copied", "copied"]
        assert variant["targets"] == {"min_capability": 90, "max_capability": 90}
    ptx = export.variants["triton_sm90"]
    assert usual["assumptions"] == ptx["assumptions"] and usual["grid"] == ptx["grid"]
    assert {"tensor": "x", "aligned": 16} in usual["assumptions"] and {"tensor": "x", "aligned": 16} not in general["assumptions"]
    blocks = [(("BLOCK", 256),), (("BLOCK", 1024),)]
    assert export.code() == {b: (RECORDED / "copied.tileir").read_bytes() for b in blocks}
    assert export.code("triton_tile_sm90_any") == {b: (RECORDED / "copied.any.tileir").read_bytes() for b in blocks}


def test_bytecode_that_takes_other_parameters_is_refused():
    with back_end(returned="product.range.tileir"):
        is_refused("copied", "was not exported: variant 'triton_tile_sm90'", "the Tile IR bytecode has no kernel 'copied'; its kernels are: product")


def test_each_back_end_compiles_in_its_own_environment():
    before = driver.active
    export = Export("copied")
    assert len(export.calls) == 4 and all(c["tile"] == "1" for c in export.calls), export.calls
    assert {c["driver"].backend for c in export.calls} == {"tileir"}
    assert export.left == {"ENABLE_TILE": "1"} and driver.active is before
    assert ".target sm_90" in (export.folder / export.variants["triton_sm90"]["artifacts"][0]["file"]).read_text()


def test_hints_of_the_entry_are_axes_and_stages_are_code():
    export = Export("hinted")
    assert {c["options"].get("num_stages") for c in export.calls} == {2, 4}
    assert not [c for c in export.calls if {"occupancy", "num_ctas"} & {*c["options"]}], "they are patched later"
    assert list(export.code()) == [(("BLOCK", 256), ("num_stages", 2)), (("BLOCK", 256), ("num_stages", 4))]
    kinds = {name: kind for name, (kind, _) in export.axes().items()}
    assert kinds == {"backend": None, "BLOCK": None, "occupancy": "hint", "num_ctas": "hint", "num_stages": "structural"}
    assert len(export.configs("triton_tile")) == 8 and len(export.configs("triton")) == 4, "occupancy means nothing to PTX"


def test_hints_that_are_constants_stay_in_the_code():
    export = Export("fixed")
    assert export.error is None and export.calls
    for call in export.calls:
        assert {n: call["options"][n] for n in ("occupancy", "num_ctas", "opt_level")} == {"occupancy": 4, "num_ctas": 2, "opt_level": 2}
    assert export.variants["triton_tile_sm90"]["options"] == ["-O2"]


def test_configs_of_autotune_race_with_their_occupancy():
    export = Export("tuned")
    assert export.configs("triton_tile") == [
        {"BLOCK": 256, "num_warps": 0, "num_stages": 2, "occupancy": 1}, {"BLOCK": 256, "num_warps": 0, "num_stages": 2, "occupancy": 2},
        {"BLOCK": 1024, "num_warps": 0, "num_stages": 4, "occupancy": 2}], export.error
    assert [c["occupancy"] for c in export.configs("triton")] == [0, 0, 0]
    assert list(export.code()) == [(("BLOCK", 256), ("num_stages", 2)), (("BLOCK", 1024), ("num_stages", 4))]
    assert "ignored" not in export.notes
    is_refused("by_levels", "the configs of kernel 'by_levels' differ in opt_level")


def test_a_config_that_does_not_lower_is_left_out_of_tile_ir_alone():
    with back_end(refuses=lambda options: options.num_stages == 4):
        export = Export("tuned")
        assert [c["BLOCK"] for c in export.configs("triton_tile")] == [256, 256] and len(export.configs("triton")) == 3
        assert "left out, as Triton itself would" in export.notes and "cannot be converted to tileir" in export.notes
    with back_end(refuses=lambda options: True):
        is_refused("tuned", "no config of kernel 'tuned' compiles to Tile IR: unset ENABLE_TILE to export PTX alone")
        is_refused("copied", "kernel 'copied' for sm_90", "Tile IR: Triton ttir to tileir ir failed.")


def test_the_back_end_applies_ftz_and_approx_itself():
    export = Export("copied", TILEIR_ENABLE_FTZ="1", TILEIR_ENABLE_APPROX="1")
    assert {(c["ftz"], c["approx"]) for c in export.calls} == {("1", "1")}
    assert "options" not in export.variants["triton_tile_sm90"], "they would be applied twice"
    raced = Export("by_math", TILEIR_ENABLE_FTZ="1", TILEIR_ENABLE_APPROX="1")
    assert {(c["ftz"], c["approx"]) for c in raced.calls} == {(None, "1")}, "false of the axis is without the flags"
    assert raced.left["TILEIR_ENABLE_FTZ"] == "1" and raced.axes()["ftz"] == ("option", [False, True])


def test_an_axis_of_the_declaration_says_who_races():
    export = Export("explicit")
    assert export.configs("triton_tile") == [{"BLOCK": 256, "num_warps": 0}], export.error
    assert export.configs("triton") == [{"BLOCK": 256, "num_warps": 2}, {"BLOCK": 256, "num_warps": 4}]
    assert export.manifest["baseline"] == {"backend": "triton_tile", "BLOCK": 256, "num_warps": 0}
    without = Export("without")
    assert "the axis backend has no value 'triton_tile'; add it" in without.notes
    assert list(without.variants) == ["triton_sm90", "triton_sm90_any"] and not without.calls


def test_ptx_alone_is_exported_unless_tile_ir_is_asked_for():
    for value in ("0", "", "2"):
        export = Export("copied", ENABLE_TILE=value)
        assert list(export.variants) == ["triton_sm90", "triton_sm90_any"] and not export.calls and "backend" not in export.axes()


def test_an_export_without_tile_ir_ends_the_race():
    raced = Export("copied")
    alone = Export("copied", folder=raced.folder, ENABLE_TILE="0")
    assert alone.error is None and alone.manifest == Export("copied", ENABLE_TILE="0").manifest, alone.error


def test_descriptors_are_refused():
    is_refused("mapped", "a TensorDescriptor cannot be passed to Triton's Tile IR from a bundle; unset ENABLE_TILE to export PTX alone",
               file="triton_kernels.py")


run_tests(globals(), sys.argv[1:])
