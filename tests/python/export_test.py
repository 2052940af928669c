#!/usr/bin/env python3
"""The exporters: export_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce on PYTHONPATH; cuTile's part cuda-tile, without a GPU."""
import importlib.util
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from running import expect, run_tests
import tuneonce
from tuneonce import Bundle, _tuneonce
from tuneonce.export import (Declaration, blocks, ceil_div, derived, descriptor, floor_div, least, num_sms, product,
                             scalar, tensor, workspace)

folder = pathlib.Path(sys.argv[1])
ONE = {"dims": ["N"], "parameters": [tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out")]}

KERNEL = '''
import cuda.tile as ct
from tuneonce import _tuneonce
from tuneonce.export import Declaration, tensor

@ct.kernel
def scale({signature}):
    tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO)
    ct.store(y, index=(ct.bid(0),), tile=tile)

scale_bundle = Declaration(dims=["N"], parameters=[{parameters}], axes={{"TILE": {values} }},
    grid={{"pattern": "one_d", "tiles": [["N", {{"axis": "TILE"}}]]}})
'''
X, Y = 'tensor("x", "float32", ["N"])', 'tensor("y", "float32", ["N"], "out")'


def export(out, signature="x, y, TILE: ct.Constant[int]", parameters=f"{X}, {Y}", values="[64]"):
    """What the exporter says, or None if it went well."""
    file = pathlib.Path(out, "scale.py")
    file.write_text(KERNEL.format(signature=signature, parameters=parameters, values=values))
    done = subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", f"{file}:scale", "-o", out],
                          capture_output=True, text=True)
    return None if done.returncode == 0 else done.stderr.strip()


def test_the_exporter_says_what_the_kernel_is():
    if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.tile") is None:
        return
    with tempfile.TemporaryDirectory() as out:
        file = pathlib.Path(out, "scale.py")
        file.write_text(KERNEL.format(signature="x, y, TILE: ct.Constant[int]", parameters=f"{X}, {Y}", values="[64, 128]"))
        done = subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", f"{file}:scale", "-o", out],
                              capture_output=True, text=True, check=True)
        lines = [line.removeprefix(f"{out}: ") for line in done.stdout.splitlines()]
        assert lines[1] == "elementwise: 1 load, 1 store; space to start from: elementwise", lines
        assert [line.split(":")[0] for line in lines[2:]] == ["look"] * 3, lines
        for part in ("has no baseline", "no axis `occupancy`", "its largest tile has 128 along TILE"):
            assert any(part in line for line in lines[2:]), lines


def test_a_grid_field_that_the_pattern_does_not_use_is_an_error():
    for grid, part in (
            ({"pattern": "one_d", "tiles": [["N", 64]], "occupancy": 2}, "one_d does not use 'occupancy'"),
            ({"pattern": "one_d", "tiles": [["N", 64], ["N", 64]]}, "one_d has one entry in tiles, not 2"),
            ({"pattern": "tile_coverage", "tiles": [["N", 64]], "batch": "N"}, "tile_coverage does not use 'batch'"),
            ({"pattern": "spiral"}, "unknown grid pattern 'spiral'")):
        expect(ValueError, part, lambda grid=grid: Declaration(**ONE, grid=grid))
        expect(ValueError, part, lambda grid=grid: Declaration(**ONE, grid={"pattern": "fixed", "blocks": [1]},
                                                               grids={"cpu": grid}))


def test_the_schema_lists_the_same_fields():
    schema = json.loads((folder / "../docs/bundle.schema.json").read_text())
    grids = schema["$defs"]["variant"]["properties"]["grid"]["oneOf"]
    fields = {"tiles", "num_ctas", "occupancy", "rows", "batch", "heads", "blocks"}
    assert len(grids) == 6
    for grid in grids:
        name, known = grid["properties"]["pattern"]["const"], set(grid["properties"])
        assert set(grid["required"]) == known and not grid["additionalProperties"]
        tiles = grid["properties"].get("tiles")
        most = schema["$defs"][tiles["$ref"].split("/")[-1]]["maxItems"] if tiles else 0
        _tuneonce._check_grid(name, sorted(known), most)
        expect(ValueError, f"{name} has", lambda: _tuneonce._check_grid(name, [], most + 1))
        for field in fields - known:
            expect(ValueError, f"{name} does not use '{field}'", lambda: _tuneonce._check_grid(name, [field], most))


def test_names_and_order_are_the_kernels():
    declaration = Declaration(**ONE, grid={"pattern": "fixed", "blocks": [1]})
    declaration.check_names("k", ["x", "y", "n"], ["x", "y", "N"])
    declaration.check_names("k", ["k", "K", "n"], ["k", "K", "N"])
    expect(ValueError, "kernel 'k' takes (k, K), but is declared with (K, k)",
           lambda: declaration.check_names("k", ["k", "K"], ["K", "k"]))
    for arguments in (["y", "x", "n"], ["x", "y"], ["a", "y", "n"]):
        expect(ValueError, f"kernel 'k' takes ({', '.join(arguments)}), but is declared with (x, y, N)",
               lambda arguments=arguments: declaration.check_names("k", arguments, ["x", "y", "N"]))


def test_a_declaration_says_all_that_a_manifest_can():
    schema = json.loads((folder / "../docs/bundle.schema.json").read_text())
    declaration = Declaration(
        dims=["M", "N"], version="2", key=[{"dim": "M", "buckets": [1, 2, 24]}, {"value_of": "causal"}],
        parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out"),
                    scalar("causal", "bool", warmup=True), derived("tiles", ceil_div("N", "TILE")),
                    workspace("scratch", product("M", 2), "float32"), descriptor("map", "x", [1, 4], swizzle="32B")],
        grid=blocks(product(least(product(num_sms(), 2), ceil_div("M", "TILE")), ceil_div("N", "TILE"))),
        axes={"TILE": [64, 128]}, option_axes={"opt-level": [2, 3]}, configs=[{"TILE": 64}, {"TILE": 128}], max_configs=4,
        baseline=[{"config": {"TILE": 128, "opt-level": 3}, "where": "device.capability >= 100"},
                  {"config": {"TILE": 64, "opt-level": 3}}],
        unordered=True,
        fallback={"TILE": 64, "opt-level": 3}, where=["causal",
                                                      "M + N <= max(M, 1048576)",
                                                      "TILE != 128 || device.capability == 0"],
        tolerance={"relative": 1e-3}, work={"bytes": [[8, "M", "N"]], "operations": floor_div(product("M", "N"), 2)},
        example={"dims": {"M": 64, "N": 64}}, targets_of={"cuda": {"min_capability": 90}}, options_of={"cpu": ["-g"]},
        requires_of={"cpu": "TILE == 64 || aligned(x, TILE)"})
    with tempfile.TemporaryDirectory() as out:
        pathlib.Path(out, "k.cc").write_text(
            "static void k(const tuneonce_block&, const float*, float*, bool, int, float*, tuneonce_tensor_map) {}\n"
            "TUNEONCE_CPU_KERNEL(k);\n")
        cpu = declaration.cpu_variant("k", pathlib.Path(out, "k.cc"))
        manifest = declaration.manifest("k", [cpu])
        listed = set(schema["properties"]) - {"space"}  # Which stands in place of configs and baseline.
        assert set(manifest) == listed, set(manifest) ^ listed
        page = (folder / "../docs/internal/manifest.md").read_text().split("## Variants")[0]
        documented = {name for names in re.findall(r"^- ((?:`\w+`(?:, )?)+):", page, re.M) for name in names.split("`")[1::2]}
        assert documented == set(schema["properties"]), documented ^ set(schema["properties"])
        assert manifest["variants"][0]["options"] == ["-g"]
        assert manifest["variants"][0]["requires"] == "TILE == 64 || aligned(x, TILE)"
        assert manifest["axes"][-1] == {"name": "opt-level", "kind": "option", "values": [2, 3]}
        assert manifest["configs"] == [{"TILE": t, "opt-level": o} for t in (64, 128) for o in (2, 3)]
        pathlib.Path(out, "manifest.json").write_text(json.dumps(manifest))
        Bundle(pathlib.Path(out))


def test_an_extent_may_be_a_constant():
    declaration = Declaration(dims=["N"], parameters=[tensor("x", "float32", ["N", 4]), tensor("y", "float32", ["N"], "out")],
                              grid=blocks("N"), axes={"TILE": [64]}, baseline={"TILE": 64}, example={"dims": {"N": 64}})
    with tempfile.TemporaryDirectory() as out:
        pathlib.Path(out, "k.cc").write_text("static void k(const tuneonce_block&, const float*, float*, int) {}\n"
                                             "TUNEONCE_CPU_KERNEL(k);\n")
        manifest = declaration.manifest("k", [declaration.cpu_variant("k", pathlib.Path(out, "k.cc"))])
        assert manifest["parameters"][0]["dims"] == ["N", 4], manifest
        pathlib.Path(out, "manifest.json").write_text(json.dumps(manifest))
        bundle = Bundle(pathlib.Path(out))
        assert bundle.dims == ("N",) and bundle.parameters["x"]["dims"] == ["N", 4], bundle.parameters
    for wrong in (0, -4, True, 4.5):
        expect(ValueError, f"parameter 'x' has the extent {wrong}", lambda: Declaration(
            dims=["N"], parameters=[tensor("x", "float32", ["N", wrong])], grid=blocks("N")))


def test_a_declaration_names_a_familys_space():
    ab = {"dims": ["M", "N", "K"], "grid": {"pattern": "tile_coverage", "tiles": [["M", "TILE_M"], ["N", "TILE_N"]]},
          "parameters": [tensor("a", "float32", ["M", "K"]), tensor("b", "float32", ["K", "N"]),
                         tensor("c", "float32", ["M", "N"], "out")]}
    schema = json.loads((folder / "../docs/bundle.schema.json").read_text())
    assert sorted(schema["$defs"]["family"]["enum"]) == sorted(families_there_are())
    declaration = Declaration(**ab, space="dense_matmul", axes={"SPLIT_K": [1]})
    tiles = declaration.structural_configs()
    assert {"TILE_M": 512, "TILE_N": 256, "TILE_K": 64, "SPLIT_K": 1} in tiles, "of whatever target"
    with tempfile.TemporaryDirectory() as out:
        pathlib.Path(out, "k.cc").write_text("static void k(const tuneonce_block&, const float*, const float*, float*, int, "
                                             "int, int) {}\nTUNEONCE_CPU_KERNEL(k);\n")
        ab["parameters"] += [{"kind": "dim", "dim": d} for d in "MNK"]
        manifest = declaration.manifest("k", [declaration.cpu_variant("k", pathlib.Path(out, "k.cc"))])
        assert manifest["space"] == "dense_matmul" and manifest["axes"] == [{"name": "SPLIT_K", "values": [1]}]
        assert not {"configs", "baseline"} & set(manifest)
        assert manifest["variants"][0]["defines"] == ["TILE_M", "TILE_N", "TILE_K", "SPLIT_K"]
        pathlib.Path(out, "manifest.json").write_text(json.dumps(manifest))
        assert Bundle(pathlib.Path(out)).dims == ("M", "N", "K")
    expect(ValueError, "unknown family of kernels 'matmul'; choose one of: fp8_matmul, ",
           lambda: Declaration(**ab, space="matmul"))
    expect(ValueError, "a named space brings its own configs and baseline",
           lambda: Declaration(**ab, space={"family": "dual_gemm"}, configs=[{"TILE_M": 64}]))


def families_there_are():
    return [name for name in tuneonce.families.__all__ if name not in ("FamilySpace", "classify", "show")]


def needs_cutile(test):
    if importlib.util.find_spec("cuda") and importlib.util.find_spec("cuda.tile"):
        return test
    print("SKIPPED", test.__name__, "without cuda-tile", flush=True)
    return lambda: None


@needs_cutile
def test_what_the_exporter_refuses_is_one_line_and_leaves_no_manifest():
    with tempfile.TemporaryDirectory() as out:
        said = export(out, parameters=f"{Y}, {X}")
        assert said.endswith("kernel 'scale' takes (x, y), but is declared with (y, x): give the parameters the kernel's "
                             "names, in its order") and said.count("\n") == 0, said
        assert "is declared with (x)" in export(out, parameters=X)
        said = export(out, values="[64, 64]")
        assert "manifest.json:" in said and "lists the value 64 twice" in said and said.count("\n") == 0, said
        said = export(out, values="[64], }, baseline={'TILE': 64.5}, where=[], hint_axes={")
        assert "manifest.json:" in said and "baseline.TILE: expected a whole number" in said, said
        assert not pathlib.Path(out, "manifest.json").exists()


@needs_cutile
def test_a_kernel_is_exported_for_a_named_space():
    with tempfile.TemporaryDirectory() as out:
        file = pathlib.Path(out, "scale.py")
        text = KERNEL.format(signature="x, y, TILE: ct.Constant[int]", parameters=f"{X}, {Y}", values="[0]")
        file.write_text(text.replace('axes={"TILE": [0] }', 'space="elementwise", divisible={"N": 16}'))
        subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", f"{file}:scale", "-o", out], check=True,
                       stdout=subprocess.DEVNULL)
        manifest = json.loads(pathlib.Path(out, "manifest.json").read_text())
        assert manifest["space"] == "elementwise" and not {"axes", "configs", "baseline"} & set(manifest)
        tiles = [[a["config"]["TILE"] for a in variant["artifacts"]] for variant in manifest["variants"]]
        assert tiles == [[1024, 2048, 4096]] * 2, tiles
        Bundle(pathlib.Path(out))


@needs_cutile
def test_a_kernel_is_exported_for_each_of_its_dtypes():
    with tempfile.TemporaryDirectory() as out:
        file = pathlib.Path(out, "scale.py")
        text = KERNEL.format(signature="x, y, w, TILE: ct.Constant[int]", values="[64]", parameters=", ".join(
            ['tensor("x", "float16", ["N"])', 'tensor("y", "float16", ["N"], "out")', 'tensor("w", "float32", ["N"])']))
        file.write_text(text.replace("grid=", 'dtypes=["float16", "bfloat16"], cpu="k.cc", example={"dims": {"N": 8}}, grid='))
        pathlib.Path(out, "k.cc").write_text(
            "static void scale(const tuneonce_block&, const T* x, T* y, const float*) { *y = static_cast<T>(2.0f * *x); }\n"
            "TUNEONCE_CPU_KERNEL(scale);\n")
        subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", f"{file}:scale", "-o", out], check=True,
                       stdout=subprocess.DEVNULL)
        manifest = json.loads(pathlib.Path(out, "manifest.json").read_text())
        x, y, w = manifest["parameters"]
        assert "dtype" not in x and y["same_dtype_as"] == "x" and w["dtype"] == "float32"
        assert manifest["example"]["dtypes"] == {"x": "float16"}
        tile, bfloat, cpu = manifest["variants"]
        assert [v["artifacts"][0]["file"] for v in (tile, bfloat)] == ["scale.64.tileir", "scale.64.bfloat16.tileir"]
        for variant, dtype in (tile, "float16"), (bfloat, "bfloat16"), (cpu, ["float16", "bfloat16"]):
            assert {"tensor": "x", "dtype": dtype} in variant["assumptions"], variant
        assert bfloat["name"] == "tile_bfloat16" and cpu["types"] == {"T": {"dtype_of": "x"}}
        assert Bundle(pathlib.Path(out)).parameters["y"]["same_dtype_as"] == "x"
        assert pathlib.Path(out, "scale.64.tileir").read_bytes() != pathlib.Path(out, "scale.64.bfloat16.tileir").read_bytes()


def test_dtypes_that_cannot_be_are_refused():
    for dtypes, part in ((["float16"], "lists several dtypes"), ("float16", "lists several dtypes"),
                         (["float32", "float32"], "each once"), (["float32", "half"], "dtypes has 'half'"),
                         (["float16", "bfloat16"], "begins with 'float16', which no tensor is declared with")):
        expect(ValueError, part, lambda dtypes=dtypes: Declaration(**ONE, grid=blocks("N"), dtypes=dtypes))


def test_what_another_exporters_kernel_takes_beside_a_workspace_stays():
    from tuneonce.export.__main__ import with_parts
    declaration = Declaration(dims=["N"], grid=blocks("N"), parameters=[*ONE["parameters"], workspace("sums", "N", "float32")])
    known = [*declaration.parameters, derived("sums_extent", "N"), derived("unused", "N")]
    for takers, expected in (["x", "y", "sums", "sums_extent"], ["sums_extent"]), (["x", "y", "sums"], []):
        more = with_parts(declaration, known, [{"name": "tile", "parameters": takers}]).more_parameters
        assert [p["name"] for p in more] == expected, more


@needs_cutile
def test_constants_may_stand_anywhere():
    with tempfile.TemporaryDirectory() as out:
        assert export(out, signature="TILE: ct.Constant[int], x, y") is None
        assert json.loads(pathlib.Path(out, "manifest.json").read_text())["variants"][0]["parameters"] == ["x", "y"]


def function_of(file):
    """Of Tile IR bytecode the functions, without what says where in which file they stood."""
    data = file.read_bytes()

    def number(at):
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            at, shift = at + 1, shift + 7
            if data[at - 1] < 128:
                return value, at

    at = 12  # Behind the magic number and the version.
    while data[at] != 0:
        kind, (length, at) = data[at], number(at + 1)
        if kind & 128:
            alignment, at = number(at)
            at += -at % alignment
        if kind & 127 == 2:
            return data[at:at + length]
        at += length


@needs_cutile
def test_the_examples_are_what_the_exporter_makes_of_them():
    """Code and manifests of bundles/, but for the variants in CUDA C++, which are written by hand, and Triton's, whose code
    is another with each version."""
    names = [each.name for each in sorted(folder.iterdir()) if (each / f"{each.name}.py").exists()]
    without = {each.parent.name for each in folder.glob("*/manifest.json")} - set(names)
    assert without == {"grouped_gemm_pointers"}, "each has a kernel in cuTile, but where cuTile has no words for it"
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", *(f"{folder}/{n}/{n}.py:{n}" for n in names), "-o", out],
                       check=True, stdout=subprocess.DEVNULL)
        for name in names:
            made, shipped = (json.loads(pathlib.Path(at, name, "manifest.json").read_text()) for at in (out, folder))
            exported = [v for v in shipped["variants"] if v["source"] in ("tile_ir", "cpu_cpp")]
            assert made.pop("variants") == exported, name
            assert made == {field: value for field, value in shipped.items() if field != "variants"}, name
            for file in pathlib.Path(out, name).glob("*.tileir"):
                assert function_of(file) == function_of(folder / name / file.name), f"{file.name}: export it anew"


run_tests(globals(), sys.argv[2:])
