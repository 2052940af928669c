#!/usr/bin/env python3
"""The Triton exporter: triton_export_test.py [NAME ...]. Needs tuneonce and triton on PYTHONPATH, but no GPU; exits with 77
without triton."""
import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from running import run_tests

if importlib.util.find_spec("triton") is None:
    print("SKIPPED: there is no triton on PYTHONPATH (scripts/install_dependencies --tests fetches it)")
    sys.exit(77)

CACHE = tempfile.TemporaryDirectory()
os.environ["TRITON_CACHE_DIR"] = CACHE.name
from tuneonce.export import Declaration, DeclarationError, __main__ as exporter, stride, strides, tensor  # noqa: E402
from tuneonce.export.compile_ahead import compile_ahead  # noqa: E402
from tuneonce.export.compiler_words import said  # noqa: E402

KERNELS = pathlib.Path(__file__).parent / "triton_kernels.py"


class Export:
    """What the exporter wrote and said of one kernel."""

    def __init__(self, kernel, *options, folder=None):
        self._own = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder or self._own.name, "bundle")
        said, printed, self.error = io.StringIO(), io.StringIO(), None
        sys.argv = ["tuneonce.export", "triton", f"{KERNELS}:{kernel}", "-o", str(self.folder), *options]
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(printed):
            try:
                exporter.main()
            except SystemExit as exit:
                self.error = exit.code
        self.notes, self.said = said.getvalue(), printed.getvalue()
        manifest = self.folder / "manifest.json"
        self.manifest = json.loads(manifest.read_text()) if manifest.exists() else None
        self.variants = {v["name"]: v for v in self.manifest["variants"]} if self.manifest else {}

    def code(self, variant="triton_sm90", artifact=0):
        return (self.folder / self.variants[variant]["artifacts"][artifact]["file"]).read_text()

    def axes(self):
        return {a["name"]: a["values"] for a in self.manifest["axes"]}


def assume(variant, kind):
    """What a variant assumes, by tensor and dimension."""
    return {(a["tensor"], a.get("dimension")): a[kind] for a in variant["assumptions"] if kind in a}


def is_refused(kernel, *parts, options=()):
    """The exporter must refuse the kernel in one line with these parts."""
    export = Export(kernel, *options)
    assert export.error is not None, kernel
    assert "\n" not in export.error and export.manifest is None, export.error
    assert not export.folder.exists(), "a part of the bundle was left"
    for part in parts:
        assert part in export.error, f"'{part}' is not in '{export.error}'"


def test_a_kernel_is_exported_for_aligned_arguments_and_behind_them_for_any():
    export = Export("matmul")
    assert list(export.variants) == ["triton_sm90", "triton_sm90_any"], export.error
    usual, general = export.variants.values()
    assert assume(usual, "aligned") == {("a", None): 16, ("b", None): 16, ("c", None): 16}
    assert assume(usual, "stride") == {("a", 1): 1, ("b", 1): 1, ("c", 1): 1}
    assert assume(usual, "stride_divisible_by") == {("a", 0): 16, ("b", 0): 16, ("c", 0): 16}
    assert usual["parameters"] == ["a", "b", "c", "M", "N", "K", "stride_am", "stride_bk", "stride_cm"], "unit strides are constants"
    assert not [a for a in general["assumptions"] if "no_overlap" not in a]
    assert len(general["parameters"]) == 12
    wide, narrow = "cp.async.c[ag].shared.global [^;]*0x10", r"ld.global[.\w]*.b16"
    assert re.search(wide, export.code()) and not re.search(narrow, export.code())
    assert re.search(narrow, export.code("triton_sm90_any")) and not re.search(wide, export.code("triton_sm90_any"))


def test_rows_that_begin_anywhere_have_variants_of_their_own():
    export = Export("ragged")
    assert list(export.variants) == ["triton_sm90", "triton_sm90_unaligned_N", "triton_sm90_any"], export.error
    ragged = export.variants["triton_sm90_unaligned_N"]
    assert assume(ragged, "stride_divisible_by") == {("a", 0): 16} and assume(ragged, "extent_divisible_by") == {("a", 1): 16}
    assert assume(ragged, "stride") == {("a", 1): 1, ("b", 1): 1, ("c", 1): 1}
    wide, narrow = "cp.async.c[ag].shared.global [^;]*0x10", r"ld.global[.\w]*.b16"
    code = export.code("triton_sm90_unaligned_N")
    assert re.search(wide, code) and re.search(narrow, code), "a's rows are wide, b's are not"


def test_extents_of_outer_dimensions_are_left_open():
    assert assume(Export("matmul").variants["triton_sm90"], "extent_divisible_by") == {("b", 1): 16, ("a", 1): 16}
    layer_norm = Export("layer_norm").variants["triton_sm90"]
    assert assume(layer_norm, "extent_divisible_by") == {("x", 1): 16}, "M is the innermost of `mean`, but not of x"


def test_one_stride_of_several_tensors_is_the_extent_of_their_rows():
    usual, general = Export("layer_norm").variants.values()
    assert "x_stride" in usual["parameters"] and not assume(usual, "stride_divisible_by")
    assert re.search(r"ld.global[.\w]*.v4", Export("layer_norm").code()), "its divisibility is known"


def test_a_product_is_divisible_where_a_factor_is():
    export = Export("flattened")
    usual, general = export.variants.values()
    assert assume(usual, "extent_divisible_by") == {("x", 1): 16} and not assume(general, "extent_divisible_by")
    wide = r"ld.global[.\w]*.v[24]"
    assert re.search(wide, export.code()) and not re.search(wide, export.code("triton_sm90_any"))
    known = Export("by_sixteens")
    assert not assume(known.variants["triton_sm90"], "extent_divisible_by"), "a number needs no assumption"
    assert re.search(wide, known.code())


def test_each_assumption_is_made_once():
    for kernel in ("layer_norm", "matmul", "flattened"):
        for variant in Export(kernel).variants.values():
            made = [json.dumps(each) for each in variant["assumptions"]]
            assert len(made) == len(set(made)), made


def test_what_the_example_does_not_have_is_not_assumed():
    export = Export("small")
    assert not assume(export.variants["triton_sm90"], "extent_divisible_by"), export.error
    assert list(Export("copied").variants) == ["triton_sm90", "triton_sm90_any"]


def test_one_variant_is_enough_where_the_code_is_the_same():
    export = Export("one_by_one")
    assert list(export.variants) == ["triton_sm90"], export.error
    assert not assume(export.variants["triton_sm90"], "aligned")


def test_each_dtype_has_variants_of_its_own():
    export = Export("remembered")
    assert list(export.variants) == ["triton_sm90", "triton_sm90_any", "triton_sm90_bfloat16", "triton_sm90_any_bfloat16"], export.error
    dtypes = {n: assume(v, "dtype") for n, v in export.variants.items()}
    assert dtypes == {n: {("x", None): "bfloat16" if "bfloat16" in n else "float16"} for n in export.variants}, dtypes
    assert ".bf16" in export.code("triton_sm90_bfloat16") and ".bf16" not in export.code("triton_sm90")
    x, y = export.manifest["parameters"][:2]
    assert "dtype" not in x and y["same_dtype_as"] == "x" and "dtype" not in y


def test_a_workspace_is_aligned_whatever_the_tensors_are():
    for variant in ("triton_sm90", "triton_sm90_any"):
        export = Export("remembered")
        assert re.search(r"st.global.v4.b32", export.code(variant)), export.code(variant)
        assert not any(tensor == "copies" for tensor, _ in assume(export.variants[variant], "aligned")), "nobody passes it"


def test_a_bundle_has_code_for_several_architectures():
    export = Export("copied", "--capability", "90", "--capability", "80")
    targets = {n: (v["targets"]["min_capability"], v["targets"]["max_capability"]) for n, v in export.variants.items()}
    assert targets == {"triton_sm80": (80, 89), "triton_sm80_any": (80, 89), "triton_sm90": (90, 90),
                       "triton_sm90_any": (90, 90)}, targets
    assert ".target sm_80" in export.code("triton_sm80") and ".target sm_90a" in export.code("triton_sm90")
    assert Export("copied", "--capability", "80", "--capability", "89").variants["triton_sm80"]["targets"] == {
        "min_capability": 80, "max_capability": 88}
    with tempfile.TemporaryDirectory() as folder:
        Export("copied", "--capability", "80", folder=folder)
        assert len(Export("copied", folder=folder).variants) == 4, "a second run adds"


def test_cubins_are_tritons_own():
    export = Export("copied", "--cubin")
    assert {v["source"] for v in export.variants.values()} == {"cubin"}, export.error
    artifacts = [a["file"] for v in export.variants.values() for a in v["artifacts"]]
    assert all((export.folder / a).read_bytes()[:4] == b"\x7fELF" for a in artifacts) and artifacts[0].endswith(".sm_90.cubin")


def test_the_compilers_options_are_axes():
    export = Export("copied")
    assert export.axes() == {"BLOCK": [256, 1024], "num_warps": [2, 4]}
    assert [a["block"] for a in export.variants["triton_sm90"]["artifacts"]] == [64, 128, 64, 128]


def test_an_axis_may_be_option_and_constant_at_once():
    export = Export("softmax")
    assert export.axes()["num_stages"] == [2, 4], export.error
    assert export.code(artifact=0) != export.code(artifact=1)


def test_an_autotuned_kernel_brings_its_configs():
    export = Export("matmul")
    assert export.axes() == {"TILE_M": [64, 128], "TILE_N": [64, 128], "num_warps": [4, 8], "num_stages": [3, 4],
                             "num_ctas": [1, 2], "maxnreg": [0, 128]}, "TILE_K does not vary"
    configs = export.manifest["configs"]
    assert len(configs) == 3 and configs[0] == export.manifest["baseline"]
    assert export.manifest["key"] == [{"dim": "M"}, {"dim": "N"}, {"dim": "K"}]
    artifacts = {tuple(a["config"].values()): a for a in export.variants["triton_sm90"]["artifacts"]}
    assert set(artifacts) == {(128, 64, 4, 3, 1, 0), (64, 64, 4, 4, 2, 0), (64, 128, 8, 4, 1, 128)}, set(artifacts)
    assert [a.get("cluster") for a in artifacts.values()] == [None, 2, None]
    assert [".maxnreg 128" in export.code(artifact=i) for i in range(3)] == [False, False, True]


def test_a_file_may_ask_for_the_target_while_it_is_imported():
    from triton.runtime import driver
    from tuneonce.export import triton_driver
    Export("matmul")
    if isinstance(driver.active, triton_driver.ExportDriver):  # On a machine with a GPU the real one is asked.
        assert "num_ctas" in Export("matmul").axes()
        driver.set_active(triton_driver.ExportDriver(80))
        assert "num_ctas" not in Export("matmul", "--capability", "80").axes()
        driver.set_active(triton_driver.ExportDriver(90))


def test_a_declarations_axes_replace_a_kernels_configs():
    export = Export("relu")
    assert export.axes() == {"TILE_M": [64], "occupancy": [1, 2]}, export.error
    assert "the declaration's axes or configs replace the 3 configs of @triton.autotune" in export.notes
    assert "hint axis 'occupancy' means nothing to Triton: its code is the same for all values" in export.notes
    assert [a["config"] for a in export.variants["triton_sm90"]["artifacts"]] == [{"TILE_M": 64}]
    tiles = [["M", {"axis": "TILE_M"}], ["N", 64]]
    assert export.variants["triton_sm90"]["grid"]["tiles"] == tiles, "a constant in a grid is its value"


def test_heuristics_that_depend_on_the_config_are_asked():
    export = Export("by_constants")
    assert export.axes() == {"BLOCK": [512, 1024]}, export.error
    assert [a["block"] for a in export.variants["triton_sm90"]["artifacts"]] == [128, 256]
    assert ["mul.f32" in export.code(artifact=i) for i in range(2)] == [False, True]


def test_heuristics_that_depend_on_the_launch_are_named():
    is_refused("by_extent", "heuristic 'EVEN' of kernel 'by_extent' depends on 'n', which only a launch knows: give EVEN a value in "
                            "constants")
    assert Export("uneven").error is None


def test_heuristics_know_which_arguments_a_launch_passes():
    export = Export("weighted")
    assert export.error is None, export.error
    assert export.variants["triton_sm90"]["parameters"] == ["x", "y", "w", "N"], "derived('GROUP', 128) is a constant"
    assert "shr" in export.code() or "bfe" in export.code(), "the division by 128 is a shift"
    is_refused("told", "heuristic 'EVEN' of kernel 'told' depends on 'x'")


def test_a_grid_may_name_a_heuristic_that_is_the_same_for_all_configs():
    export = Export("settled")
    assert export.error is None, export.error
    assert export.variants["triton_sm90"]["grid"]["blocks"] == [{"ceil_div": ["N", 256]}]
    is_refused("astray", "the grid names 'TILE', which is not a dim, a scalar or an axis; those are: N")


def test_numbers_have_the_types_that_the_kernel_annotates():
    export = Export("long_rows")
    assert export.error is None, export.error
    dtypes = {p.get("name", p.get("dim")): p.get("dtype") for p in export.manifest["parameters"]}
    assert dtypes["stride_x"] == "int64" and dtypes["N"] == "int32", dtypes
    assert ".param .u64 long_rows_param_2" in export.code("triton_sm90_any"), export.code("triton_sm90_any")


def test_arguments_that_bundles_cannot_have_are_refused_before_anything_compiles():
    is_refused("tupled", "kernel 'tupled' takes 'xs' as a tuple")
    is_refused("pointed", "kernel 'pointed' makes pointers of numbers")
    is_refused("low_level", "kernel 'low_level' is a Gluon kernel")
    try:
        Declaration(dims=["N"], parameters=[tensor("s", "float8_e8m0fnu", ["N"])], grid={"pattern": "one_d", "tiles": [["N", 1]]})
    except DeclarationError as error:
        assert "declare it as uint8" in str(error)
    else:
        raise AssertionError("float8_e8m0 was taken")


def test_strides_of_a_tensor_are_declared_in_one_line():
    assert strides("x", "stride_b stride_h") == [stride("x", 0, name="stride_b"), stride("x", 1, name="stride_h")]


def test_ptxas_says_why_it_failed():
    error = RuntimeError("PTXAS error: Internal Triton PTX codegen error\n`ptxas` stderr:\nptxas info : 1 bytes\n"
                         "ptxas /tmp/k.ptx, line 9; error   : Feature 'x' requires .target sm_100\n"
                         "ptxas fatal   : Ptx assembly aborted due to errors\n\nRepro command: ptxas /tmp/k.ptx\n")
    assert said(error) == "ptxas: Feature 'x' requires .target sm_100; Ptx assembly aborted due to errors"
    assert said(ValueError("at 3:4\n  code\nreason")) == "reason" and said(ValueError()) == "ValueError"


def test_configs_compile_at_the_same_time_and_within_a_time_limit():
    def job(number, folder):
        pathlib.Path(folder, str(number)).touch()
        while len(os.listdir(folder)) < 2:  # Until another one runs, too.
            time.sleep(0.01)
    with tempfile.TemporaryDirectory() as folder:
        assert compile_ahead("k", [functools.partial(job, i, folder) for i in range(3)], 2) == set()
        begun = os.listdir(folder)
    assert len(begun) == 3
    os.environ["TUNEONCE_EXPORT_TIME_LIMIT"] = "0.2"
    try:
        assert compile_ahead("k", [functools.partial(time.sleep, s) for s in (600, 0, 600)], 2) == {0, 2}
    finally:
        del os.environ["TUNEONCE_EXPORT_TIME_LIMIT"]


def test_whatever_is_not_installed_is_replaced_by_a_stub():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "needy.py")
        file.write_text("import no_such_one.part\nfrom no_such_two import decorated, Base\n"
                        "class Limits(Base):\n    most: int = 0\nassert Limits(most=4).most == 4\n" + KERNELS.read_text())
        run = subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", f"{file}:copied", "-o", f"{folder}/out", "--stub", "missing"],
                             capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        for name in ("no_such_one", "no_such_two"):
            assert f"'{name}', which is not installed, was replaced by a stub" in run.stderr, run.stderr
        run = subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", f"{file}:copied", "-o", f"{folder}/other"],
                             capture_output=True, text=True)
        assert run.returncode != 0 and "needs the module 'no_such_one'" in run.stderr, run.stderr


def run_in_a_package(folder, of_package, before, *options):
    """Exports a kernel of a package whose __init__ has the text `of_package`, and whose file begins with `before`."""
    package = pathlib.Path(folder, "needy", "ops", "copies")  # `ops` has no __init__ of its own.
    package.mkdir(parents=True)
    package.joinpath("__init__.py").write_text("")
    pathlib.Path(folder, "needy", "__init__.py").write_text(of_package)
    pathlib.Path(folder, "needy", "limits.py").write_text("LEAST = 1\n")
    file = package / "copy_kernel.py"
    file.write_text(before + KERNELS.read_text())
    return subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", f"{file}:copied", "-o", f"{folder}/out", *options],
                          capture_output=True, text=True)


def test_a_packages_init_does_not_run_unless_the_file_needs_it():
    broken = "raise RuntimeError('no GPU')\n"
    usual, asking = "from needy.limits import LEAST\n", "from needy import LIMIT\n"
    for of_package, before, options, error in (
            (broken, usual, ("--stub", "missing"), None), (broken, usual, (), "RuntimeError: no GPU"),
            (broken, asking, ("--stub", "missing"), "RuntimeError: no GPU"), ("LIMIT = 1\n", asking, ("--stub", "missing"), None)):
        with tempfile.TemporaryDirectory() as folder:
            run = run_in_a_package(folder, of_package, before, *options)
            assert (error is None) == (run.returncode == 0) and (error or "") in run.stderr, run.stderr


def test_an_import_whose_failure_is_caught_fails_as_without_stubs():
    before = ("try:\n    import no_such_backend\n    raise SystemExit('it was found')\nexcept ImportError:\n    pass\n"
              "import no_such_framework\n")
    with tempfile.TemporaryDirectory() as folder:
        run = run_in_a_package(folder, "", before, "--stub", "missing")
        assert run.returncode == 0 and "'no_such_framework', which is not installed" in run.stderr, run.stderr
        assert "no_such_backend" not in run.stderr, run.stderr


def test_extents_that_are_constants_are_known_to_heuristics():
    export = Export("known")
    assert [v.replace("triton_sm90_", "") for v in export.variants] == ["N1000", "N1000_any", "N4096", "N4096_any"], export.error
    for name, variant in export.variants.items():
        assert list(assume(variant, "extent").values()) == [4096 if "4096" in name else 1000]
        assert ("setp" in export.code(name)) == ("1000" in name), "only 4096 is whole blocks"
        assert variant["parameters"] == ["x", "y"]


def test_what_means_nothing_here_is_said_and_ignored():
    export = Export("pruned")
    assert export.error is None
    for note in ("pre_hook, waves_per_eu of its configs mean nothing here and are ignored",
                 "prune_configs_by is not asked: all configs are exported",
                 "3 of the 6 configs of @triton.autotune are the same as others here"):
        assert f"pruned: {note}\n" in export.notes, export.notes


def test_a_config_of_an_autotuned_kernel_that_does_not_compile_is_left_out():
    export = Export("pruned")
    assert "left out, as Triton itself would: kernel 'pruned' for sm_90, config {'BLOCK': 64}" in export.notes, export.notes
    assert export.manifest["configs"] == [{"BLOCK": 256}, {"BLOCK": 2048}]
    assert len(export.variants["triton_sm90"]["artifacts"]) == 2


def test_a_named_space_is_refused_since_its_hints_are_cutiles():
    is_refused("named", "the space of kernel 'named' is named", "list the space in axes or configs")


def test_more_configs_than_a_bundle_has_are_counted_before_they_are_compiled():
    is_refused("many", "it has 35 configs, and 30 are allowed", "max_configs=35")


def test_tensors_may_be_left_out():
    export = Export("layer_norm")
    assert "b" not in export.variants["triton_sm90"]["parameters"], export.error
    assert export.axes() == {"WIDTH": [1024, 4096]}


def test_scalars_are_passed():
    usual, general = Export("dropout").variants.values()
    assert usual["parameters"] == general["parameters"] == ["x", "y", "N", "p", "seed"]
    assert {"scalar": "seed", "divisible_by": 16} in usual["assumptions"] and "seed" not in str(general["assumptions"])


def test_global_scratch_is_a_workspace():
    export = Export("described")
    assert export.manifest["parameters"][-1] == {
        "name": "global_scratch", "kind": "workspace", "dtype": "uint8",
        "elements": {"product": [128, {"ceil_div": ["N", {"axis": "BLOCK"}]}]}}, export.error
    assert [v["parameters"][-1] for v in export.variants.values()] == ["global_scratch"] * len(export.variants)
    assert Export("copied").manifest["parameters"][-1] == {"kind": "dim", "dim": "N", "dtype": "int32"}


def test_tensor_descriptors_are_passed_as_a_map_extents_and_strides():
    export = Export("mapped")
    assert export.manifest is not None, export.error
    parameters = {p["name"]: p for p in export.manifest["parameters"] if "name" in p}
    taken = ["a_map", "a_map_extent_0", "a_map_extent_1", "a_map_stride_0", "a_map_stride_1"]
    assert all(v["parameters"][:5] == taken and v["parameters"][-1] == "K" for v in export.variants.values()), export.variants
    assert parameters["a_map"] == {"name": "a_map", "kind": "descriptor", "tensor": "a", "l2_promotion": "256B", "swizzle": "128B",
                                   "box": ["TILE_M", "TILE_K"]}, parameters["a_map"]
    assert parameters["b_desc"]["l2_promotion"] == "128B", "as Triton's own launches have it"
    assert parameters["b_desc"]["box"] == ["TILE_K", {"min": [{"axis": "TILE_N"}, 64]}], "cut to the width of a swizzle"
    assert parameters["a_map_extent_1"] == {"name": "a_map_extent_1", "kind": "derived", "value": "K", "dtype": "int32"}
    assert parameters["a_map_stride_0"] == {"kind": "stride", "name": "a_map_stride_0", "tensor": "a", "dimension": 0, "dtype": "int64"}
    for variant in export.variants.values():  # Without these there is no map.
        assert {"tensor": "b", "aligned": 16} in variant["assumptions"]
        assert {"tensor": "b", "dimension": 0, "stride_divisible_by": 8} in variant["assumptions"]
    assert Export("mapped_and_pointed").variants["triton_sm90"]["parameters"][:3] == ["x", "x_map", "x_map_extent_0"]


def test_tensor_descriptors_that_a_bundle_cannot_say_are_refused():
    is_refused("mapped", "'mapped' takes the descriptor 'a_map', which devices of capability 80 have not: --capability 90",
               options=["--capability", "80"])
    is_refused("mapped_by_widths", "descriptor 'a_map' is swizzled by 128B or 64B, as its configs' boxes are of several widths")
    is_refused("mapped_by_a_name", "the box of descriptor 'a_map' names 'TILE_X', which is neither an axis nor a constant of the kernel")


def test_names_that_differ_in_case_are_parameters_of_their_own():
    export = Export("attended")
    assert export.error is None, export.error
    variant = next(iter(export.variants.values()))
    assert variant["parameters"] == ["q", "k", "v", "o", "n", "T"], variant["parameters"]
    assert "ld.global" in export.code(variant["name"]) and "_param_5" in export.code(variant["name"])


def test_constants_in_the_key_of_autotune_are_the_dims_that_they_stand_for():
    export = Export("by_constexprs")
    assert export.manifest.get("key") == [{"dim": "K"}, {"dim": "V"}], export.manifest
    assert "by_constexprs: the key of @triton.autotune names BLOCK, which no dim or scalar decides: left out\n" in \
        export.notes
    export = Export("by_a_callers_bucket")
    assert export.manifest.get("key") == [{"dim": "N"}, {"dim": "M", "bucket": "next_pow2"}], export.manifest
    assert "M_BUCKET, which no dim or scalar decides: left out; M took their place, by powers of two\n" in export.notes
    assert Export("by_a_dims_name").manifest.get("key") == [{"dim": "N"}, {"dim": "K"}]
    export = Export("by_strides")
    assert export.error is None, export.error
    assert export.manifest.get("key") == [{"dim": "N"}, {"dim": "M"}, {"value_of": "count"}], export.manifest
    assert "names y, which no dim or scalar decides: left out" in export.notes, export.notes


def test_an_outer_dim_without_a_bucket_is_said():
    look = ("look: the key has the exact extent of T, so that each new extent is tuned: give the declaration a key "
            "with buckets, ")
    export = Export("by_nothing")
    assert "key" not in export.manifest
    assert "no dim or scalar decides: left out; nothing is left, so that all dims are the key\n" in export.notes
    key = 'key=[{"dim": "T", "bucket": "next_pow2"}, {"dim": "K"}, {"dim": "V"}, {"dim": "N"}]'
    assert look + key in export.said, export.said
    assert look in Export("attended").said, "without @triton.autotune, too"
    look = look.replace("of T", "of M")
    assert look + 'key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}, {"dim": "K"}]' in Export("matmul").said
    for kernel in ("by_constexprs", "by_own_key", "softmax_once"):
        assert "exact extent" not in Export(kernel).said, kernel


def test_a_launch_that_overlaps_the_one_before_stays_one():
    for kernel in ("awaited", "configured"):
        export = Export(kernel)
        assert export.error is None, export.error
        assert [v.get("programmatic_launch") for v in export.variants.values()] == [True, True], kernel
        assert export.notes.count("launch_pdl") == 0, export.notes
    assert "programmatic_launch" not in Export("copied").variants["triton_sm90"]
    export = Export("forgotten")
    assert "programmatic_launch" not in export.variants["triton_sm90"]
    note = ("its launches will not overlap with the launch before them: the code waits for that (gdc_wait), but "
            "launch_pdl is not set; give the declaration constants={'launch_pdl': True}")
    assert export.notes.count(note) == 1, export.notes
    is_refused("early", "launch_pdl is set, but its code never waits for the launch before it")
    is_refused("divided", "the configs of kernel 'divided' differ in launch_pdl, and a variant has one value for all")
    assert "programmatic_launch" not in Export("early", "--capability", "80").variants["triton_sm80"]
    is_refused("cooperative", "it needs a cooperative launch, which bundles do not have")


STUBBED = """import functools
from typing import Optional, Union

import no_such_framework as torch
import triton
import triton.language as tl
from no_such_framework import nn
from triton.runtime import driver

from tuneonce.export import Declaration, dim, tensor

LARGE = torch.cuda.is_available() and torch.cuda.device_count() > 1
HOPPER = torch.cuda.get_device_capability(0)[0] >= 9
NAMED = "NVIDIA H" in torch.cuda.get_device_name(0)
NEWEST = torch.cuda.get_device_capability() == (12, 0)
NEW = torch.__version__ >= "2.4"
try:
    COUNT = int(torch.cuda.device_count()) * 2
except Exception:
    COUNT = 1
try:
    DEVICES = list(range(torch.cuda.device_count()))
except Exception:
    DEVICES = []
try:
    SHARED = driver.active.utils.get_device_properties(0)
except Exception:
    SHARED = 0
DTYPES = {torch.float16: 2, torch.float32: 4}
assert DTYPES[torch.float16] == 2 and torch.float16 == torch.float16
OTHER = torch.float16 != torch.half

class Layer(nn.Module):
    def forward(self, x: Optional[torch.Tensor], y: Union[torch.Tensor, torch.Size, None] = None):
        return x

assert Layer and isinstance(Layer(), Layer)

@torch.no_grad()
@functools.lru_cache(maxsize=None)
def unused(x=torch.float32):
    return x

@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in ((256, 512) if HOPPER else (128, 1024))], key=["n"])
@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)

copied_bundle = Declaration(
    dims=["N"], grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]},
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"), dim("N")])
"""


def test_what_a_files_import_decides_by_a_stub_is_said():
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "stubbed.py")
        file.write_text(STUBBED)
        run = subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", f"{file}:copied", "-o", folder,
                              "--stub", "no_such_framework"], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        line = {text: number for number, text in enumerate(STUBBED.splitlines(), 1)}
        at = {name: next(n for text, n in line.items() if text.strip().startswith(name)) for name in
              ("LARGE", "HOPPER", "NAMED", "NEWEST", "NEW =", "COUNT", "DEVICES", "SHARED", "OTHER")}
        cuda = "no_such_framework.cuda"
        expected = [
            f"stubbed.py:{at['LARGE']}: '{cuda}.is_available()' was taken as False",
            f"stubbed.py:{at['HOPPER']}: '{cuda}.get_device_capability(0)[0] >= 9' was taken as False",
            f"stubbed.py:{at['NAMED']}: '{cuda}.get_device_name(0)' was taken as empty",
            f"stubbed.py:{at['NEWEST']}: '{cuda}.get_device_capability() == (12, 0)' was taken as False",
            f"stubbed.py:{at['NEW =']}: 'no_such_framework.__version__' was taken as '999'",
            f"stubbed.py:{at['COUNT']}: '{cuda}.device_count()' was refused as a number",
            f"stubbed.py:{at['DEVICES']}: '{cuda}.device_count()' was refused as a number"]
        from triton.runtime import driver
        from tuneonce.export import triton_driver
        triton_driver.ensure_driver(90)
        if isinstance(driver.active, triton_driver.ExportDriver):
            expected.append(f"stubbed.py:{at['SHARED']}: Triton's driver without a GPU has no 'utils'")
        dtypes = "no_such_framework.float16 != no_such_framework.half"
        expected.append(f"stubbed.py:{at['OTHER']}: '{dtypes}' was taken as True")
        said = [text for text in run.stderr.splitlines() if ":copied: stub: " in text]
        expected = [f"{file}:copied: stub: {folder}/{text}" for text in expected]
        assert said == expected, "\n".join([*expected, run.stderr])
        assert "its configs differ from those on a GPU with the modules installed" in run.stderr, run.stderr


def test_where_back_ends_race_all_variants_are_of_one():
    export = Export("raced")
    assert [v["backend"] for v in export.variants.values()] == ["triton", "triton"], export.error
    assert "backend" not in Export("copied").variants["triton_sm90"]


def test_what_cannot_be_exported_is_refused_in_one_line():
    is_refused("summed", "resets 'y' before each run, as the kernel adds to its contents: declare it inout")
    is_refused("handed_a_descriptor", "takes 'x' as a TensorDescriptor (TMA): declare descriptor('x_map', 'x', [extents of its block])")
    is_refused("broken", "kernel 'broken' for sm_90, config {'BLOCK': 256}: ", "not_defined")
    is_refused("plain", "'plain' is no Triton kernel: no function under @triton.jit")
    is_refused("no_value", "has the constant 'BLOCK', which has no value: give it one in constants, or several in axes")
    is_refused("no_axis", "'TILE' is an axis of the declaration, but kernel 'no_axis' has no such constant; it has: BLOCK")
    is_refused("no_constant", "'TILE' is a constant of the declaration, but kernel 'no_constant' has no such constant")


def test_without_a_tile_ir_back_end_ptx_is_exported_with_a_note():
    without = Export("copied")
    os.environ["ENABLE_TILE"] = "1"
    try:
        asked = Export("copied")
    finally:
        del os.environ["ENABLE_TILE"]
    assert asked.manifest == without.manifest and asked.error is None
    assert re.search(r"copied: Triton's Tile IR is not exported, though ENABLE_TILE=1: triton \S+ has no Tile IR back end \(it has: amd, "
                     r"nvidia\); install Triton from github.com/triton-lang/Triton-to-tile-IR", asked.notes), asked.notes
    assert "Tile IR" not in without.notes


run_tests(globals(), sys.argv[1:])
