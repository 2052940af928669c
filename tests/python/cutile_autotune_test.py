#!/usr/bin/env python3
"""tuneonce.cutile.autotune: cutile_autotune_test.py [NAME ...]. Needs tuneonce, cuda-tile with its tileiras, and numpy on PYTHONPATH,
but no GPU; exits with 77 without cuda-tile."""
import gc
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import warnings
import weakref

from running import expect, run_tests

if importlib.util.find_spec("cuda") is None or importlib.util.find_spec("cuda.tile") is None:
    print("SKIPPED: there is no cuda-tile on PYTHONPATH (scripts/install_dependencies --tests fetches it)")
    sys.exit(77)
if "TUNEONCE_TILEIRAS" not in os.environ:
    import cuda.tile._compile as compiler_of_cutile
    os.environ["TUNEONCE_TILEIRAS"] = str(compiler_of_cutile._find_pip_tileiras())

import numpy  # noqa: E402

import cutile_autotune_kernels as kernels  # noqa: E402
from cutile_autotune_kernels import array, ct, on_cpu, scale_kernel  # noqa: E402

import tuneonce.cutile  # noqa: E402
from tuneonce.cutile import autotuner  # noqa: E402
from tuneonce.cutile.array_usage import array_usage  # noqa: E402
from tuneonce.live.source import source_of  # noqa: E402


def normal(*shape, offset=0):
    return array(numpy.random.default_rng(0).standard_normal(shape), offset=offset)


def zeros(*shape, offset=0):
    return array(numpy.zeros(shape), offset=offset)


def test_a_kernel_is_tuned_at_its_first_call_and_launched_at_later_ones():
    kernel = scale_kernel()
    for n in (1000, 1000, 500):
        x, y = normal(n), zeros(n)
        kernel(x, y, 2.0)
        assert numpy.array_equal(y, x * 2), n
    assert kernel.best_config in kernel.configs
    assert list(kernel.cache) == [(1000, 1000, "float32", "float32"), (500, 500, "float32", "float32")], kernel.cache


def test_a_later_process_neither_compiles_nor_measures():
    def run(n, **environment):
        ran = subprocess.run([sys.executable, kernels.__file__, str(n)], env={**os.environ, **environment}, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split(" ", 1)
    store = {"TUNEONCE_STORE": kernels.STORE + ".later"}
    first, second = run(1000, **store), run(1000, **store)
    assert first[0] == "2" and second[0] == "0" and first[1] == second[1], (first, second)
    assert run(1000, DISABLE_AUTOTUNE="1", TUNEONCE_STORE=kernels.STORE + ".disabled")[0] == "1"


def test_each_call_runs_the_code_for_its_own_extents_and_addresses():
    kernel = scale_kernel(store=kernels.STORE + ".specialized")
    for n in (1024, 1000, 1024):
        x, y = normal(n), zeros(n)
        for _ in range(2):
            y[:] = 0
            kernel(x, y, 3.0)
            assert numpy.array_equal(y, x * 3), n
    assert {("i16" in symbol, "p16" in symbol) for symbol in kernel.compiler.compiled} == {(True, True), (False, True)}
    instance, _ = kernel._last_launch()  # The CPU device's copies are aligned; a GPU gets the arrays themselves.
    _, parts = instance.code_for(0, [normal(1024, offset=4), zeros(1024), 3.0])
    assert "p16_A1f32" not in parts[2] and "p16_S" in parts[2], parts[2]


def test_strided_arrays_are_passed_with_their_strides():
    kernel = scale_kernel()
    x, y = normal(2000)[::2], zeros(3000)[::3]
    kernel(x, y, 2.0)
    assert numpy.array_equal(y, x * 2)


def test_arguments_are_bound_by_position_and_by_name():
    kernel = scale_kernel()
    x, y = normal(300), zeros(300)
    for call, factor in [(lambda: kernel(x, y, 2.0), 2), (lambda: kernel(x, factor=4.0, y=y), 4), (lambda: kernel(x, y, 3.0, stream=None), 3)]:
        call()
        assert numpy.array_equal(y, x * numpy.float32(factor))
    assert str(kernel.__signature__) == "(x, y, factor)"
    for part, call in [("missing a required argument: 'factor'", lambda: kernel(x, y)),
                       ("too many positional arguments", lambda: kernel(x, y, 2.0, 64)),
                       ("unexpected keyword argument 'TILE'", lambda: kernel(x, y, 2.0, TILE=64)),
                       ("multiple values for argument 'x'", lambda: kernel(x, y, 2.0, x=x))]:
        expect(TypeError, part, call)
    expect(TypeError, "stream must be", lambda: kernel(x, y, 2.0, stream="main"))


def test_args_gives_the_kernels_arguments_and_key_the_parts_of_the_key():
    calls = []

    def args(config, x, y, halved=False):
        calls.append(config.tile)
        return x, y, 0.5 if halved else 2.0, config.tile
    configs = [types.SimpleNamespace(tile=tile, warps=None) for tile in (64, 128)]
    kernel = scale_kernel(configs, grid=lambda config, x, y, halved: (ct.cdiv(y.shape[0], config.tile),), args=args,
                          hints=lambda config: {"num_worker_warps": config.warps}, key=lambda x, y, halved: (x.shape[0] // 512, "text"))
    assert str(kernel.__signature__) == "(x, y, halved=False)"
    for n, halved in [(1000, False), (1010, False), (1000, True), (100, False)]:
        x, y = normal(n), zeros(n)
        kernel(x, y, halved)
        assert numpy.array_equal(y, x * numpy.float32(0.5 if halved else 2)), (n, halved)
    assert {key[:2] for key in kernel.cache} == {(1, "text"), (0, "text")}, kernel.cache
    number = len(calls)
    kernel(x, y)
    assert len(calls) == number, "args is not called for a call like an earlier one"
    kernel = scale_kernel(configs, grid=(5,), args=lambda config, x, y: (x + 0, y, 2.0, config.tile), hints=lambda config: {})
    expect(TypeError, "an array that the call did not get", lambda: kernel(normal(300), zeros(300)))


def test_hints_are_those_of_the_config():
    for kernel in (scale_kernel([{"TILE": 64, "occupancy": 1, "num_ctas": {"sm_100": 2, "default": 1}}]),
                   scale_kernel([{"TILE": 64, "n": 1}], hints=lambda config: {"occupancy": config["n"], "num_ctas": ct.ByTarget(sm_100=2, default=1)})):
        options = kernel.variant(0)._compiler_options
        assert options.occupancy == 1 and options.num_ctas == ct.ByTarget(sm_100=2, default=1), options
    assert scale_kernel([{"TILE": 64}]).variant(0)._compiler_options.occupancy is None


def doubled_kernel(body, **options):
    @tuneonce.cutile.autotune([{"TILE": 64}, {"TILE": 128}], grid=lambda config, *arrays: (ct.cdiv(arrays[0].shape[0], config["TILE"]),),
                              device="cpu", **options)
    @ct.kernel
    def doubled(x, TILE: ct.Constant[int]):
        i = ct.bid(0)
        ct.store(x, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,), padding_mode=ct.PaddingMode.ZERO) * 2)
    return on_cpu(doubled, body)


DOUBLED = """
  const long begin = static_cast<long>(block.x) * TILE;
  for (long i = begin; i < begin + TILE && i < x_0; ++i) x[i] = x[i] * 2;"""


def test_an_array_that_is_read_and_written_is_written_once():
    kernel = doubled_kernel(DOUBLED)
    x = normal(1000)
    before = numpy.array(x)
    kernel(x)
    assert numpy.array_equal(x, before * 2), "once, not once for each trial"
    kernel = scale_kernel(store=kernels.STORE + ".same", in_place=["y"])
    kernel(x, x, 2.0)  # One array for both.
    assert numpy.array_equal(x, before * 4)
    expect(ValueError, "in_place names 'z'", lambda: scale_kernel(in_place=["z"]))


def test_an_incorrect_config_is_not_selected():
    kernel = doubled_kernel("  if (TILE > 64 && block.x == 1) return;" + DOUBLED, store=kernels.STORE + ".incorrect")
    x = normal(1000)
    before = numpy.array(x)
    kernel(x)
    assert numpy.array_equal(x, before * 2) and kernel.best_config == {"TILE": 64}


def test_a_config_that_does_not_compile_is_left_out_even_the_first():
    kernel = scale_kernel([{"TILE": 100}, {"TILE": 64}])
    x, y = normal(300), zeros(300)
    kernel(x, y, 2.0)
    assert numpy.array_equal(y, x * 2) and kernel.best_config == {"TILE": 64}
    expect(ValueError, "no config of 'scale' compiles", lambda: scale_kernel([{"TILE": 100}])(x, y, 2.0))


def test_a_missing_compiler_is_reported_and_not_remembered():
    kernel = scale_kernel(store=kernels.STORE + ".missing")
    end = kernel.compiler.end

    def missing(compiling):
        raise tuneonce.UnavailableError("tileiras was not found")
    kernel.compiler.end = missing
    x, y = normal(300), zeros(300)
    expect(tuneonce.UnavailableError, "tileiras was not found", lambda: kernel(x, y, 2.0))
    kernel.compiler.end = end
    kernel(x, y, 2.0)
    assert numpy.array_equal(y, x * 2)


def test_mistakes_of_the_caller_are_raised_as_they_are():
    x, y = normal(100), zeros(100)

    def raising(config, x, y, factor):
        raise KeyError("of the grid")
    expect(KeyError, "of the grid", lambda: scale_kernel(grid=raising)(x, y, 2.0))
    expect(ValueError, "1 to 3 extents", lambda: scale_kernel(grid=(1, 1, 1, 1))(x, y, 2.0))
    expect(ValueError, "not negative", lambda: scale_kernel(grid=(-1,))(x, y, 2.0))
    expect(TypeError, "for a kernel under @ct.kernel, not for a function", lambda: tuneonce.cutile.autotune([{}], (1,))(lambda x: None))
    expect(ValueError, "configs is empty", lambda: scale_kernel([]))
    expect(ValueError, "cannot defer tuning", lambda: scale_kernel(mode="tune_deferred"))
    expect(ValueError, "name each argument", lambda: scale_kernel(args=lambda config, *rest: rest))
    expect(AttributeError, "best_config", lambda: scale_kernel().best_config)
    kernel = scale_kernel(key=lambda *arguments: (0,) * (len(arguments[0]) // 100))
    for n in (100, 300):  # Keys of another length are another instance's.
        kernel(normal(n), zeros(n), 2.0)
    assert {len(key) for key in kernel.cache} == {3, 5}, kernel.cache


def test_what_is_not_supported_is_launched_by_cutile_with_one_warning():
    launched = []
    plain, autotuner.ct.launch = autotuner.ct.launch, lambda *arguments: launched.append(arguments)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            kernel = scale_kernel(grid=(7,))
            for _ in range(2):
                kernel((1, 2), zeros(100), 2.0)
    finally:
        autotuner.ct.launch = plain
    assert len(launched) == 2 and launched[0][1] == (7, 1, 1) and launched[0][3][3] == 64, launched
    assert len(caught) == 1 and "'scale' is launched by ct.launch" in str(caught[0].message), caught


def usage(function, **types_of_arguments):
    kernel = ct.kernel(function)
    arguments = [array(numpy.zeros(1024), value) if isinstance(value, str) else value for value in types_of_arguments.values()]
    compiler = kernels.CpuCompiler(kernel, "")
    lowered = compiler.lowered(kernel, compiler.constraints(kernel, arguments))
    owners = {v.name: v.name.rpartition("_")[0] for v in lowered.ir.params if v.name.endswith("_0")}
    return array_usage(lowered.ir, owners, sorted(set(owners.values())))


def test_how_arrays_are_used_is_read_from_the_code():
    def copied(x, y, TILE: ct.Constant[int]):
        for i in range(4):
            ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)))

    def scattered(x, at, y, TILE: ct.Constant[int]):
        places = ct.load(at, index=(ct.bid(0),), shape=(TILE,))
        ct.scatter(y, (places,), ct.gather(x, (places,)))

    def added(x, at, y, TILE: ct.Constant[int]):
        ct.atomic_add(y, (ct.load(at, index=(ct.bid(0),), shape=(TILE,)),), ct.load(x, index=(ct.bid(0),), shape=(TILE,)))

    def sliced(x, y, TILE: ct.Constant[int]):
        part = y.slice(0, 64, 512)
        ct.store(part, index=(ct.bid(0),), tile=ct.load(x, index=(ct.bid(0),), shape=(TILE,)))

    def optional(x, y, WRITES: ct.Constant[bool], TILE: ct.Constant[int]):
        tile = ct.load(x, index=(ct.bid(0),), shape=(TILE,))
        if WRITES:
            ct.store(y, index=(ct.bid(0),), tile=tile)
        else:
            ct.store(x, index=(ct.bid(0),), tile=tile + 1)

    arrays = {"x": "float32", "at": "int32", "y": "float32"}
    two = {"x": "float32", "y": "float32"}
    for found, read, written, is_unordered in [
            (usage(copied, **two, TILE=64), {"x"}, {"y"}, False), (usage(scattered, **arrays, TILE=64), {"x", "at"}, {"y"}, False),
            (usage(added, **arrays, TILE=64), {"x", "at", "y"}, {"y"}, True), (usage(sliced, **two, TILE=64), {"x"}, {"y"}, False),
            (usage(optional, **two, WRITES=True, TILE=64), {"x"}, {"y"}, False),
            (usage(optional, **two, WRITES=False, TILE=64), {"x"}, {"x"}, False)]:
        assert found == (read, written, is_unordered), found


CALLED = '''
import cuda.tile as ct
import helpers
FACTOR = {factor}
def doubled(tile):
    return tile * 2
@ct.kernel
def kernel(x, TILE: ct.Constant[int]):
    tile = ct.load(x, index=(0,), shape=(TILE,))
    ct.store(x, index=(0,), tile=helpers.moved(doubled(tile)) {operation} FACTOR)
'''


def test_what_a_kernel_calls_and_its_constants_are_part_of_its_identity():
    def source(factor=3, operation="*", moved=1):
        helpers = types.ModuleType("helpers")
        exec(f"def moved(tile):\n    return tile + {moved}\n", helpers.__dict__)
        sys.modules["helpers"] = helpers
        module = {"__name__": "of_test"}
        import linecache
        text = CALLED.format(factor=factor, operation=operation)
        linecache.cache["<kernel>"] = (len(text), None, text.splitlines(True), "<kernel>")
        exec(compile(text, "<kernel>", "exec"), module)
        return source_of(module["kernel"])
    assert source() == source()
    assert len({repr(s) for s in (source(), source(factor=4), source(operation="+"), source(moved=2))}) == 4


def test_threads_call_one_kernel():
    kernel = scale_kernel()
    failures = []

    def work(index):
        try:
            x, y = normal(300 + index % 2), zeros(300 + index % 2)
            for _ in range(20):
                y[:] = 0
                kernel(x, y, float(index))
                assert numpy.array_equal(y, x * numpy.float32(index)), index
        except Exception as error:  # noqa: BLE001
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def test_a_kernel_that_nobody_uses_is_freed():
    kernel = scale_kernel()
    kernel(normal(100), zeros(100), 2.0)
    left = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert left() is None


def test_ctrl_c_ends_a_call_that_compiles():
    kernel = scale_kernel(store=kernels.STORE + ".interrupted")
    end = kernel.compiler.end

    def interrupted(compiling):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.1)
        return end(compiling)
    kernel.compiler.end = interrupted
    x, y = normal(300), zeros(300)
    expect(KeyboardInterrupt, "", lambda: kernel(x, y, 2.0))
    kernel.compiler.end = end
    kernel(x, y, 2.0)
    assert numpy.array_equal(y, x * 2)


def test_a_process_that_was_forked_after_use_is_told_so():
    kernel = scale_kernel()
    x, y = normal(300), zeros(300)
    kernel(x, y, 2.0)
    child = os.fork()
    if child == 0:
        try:
            kernel(x, y, 3.0)
        except tuneonce.UnavailableError as error:
            os._exit(0 if "after a fork" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    kernel(x, y, 4.0)
    assert numpy.array_equal(y, x * 4)


def test_a_bundle_is_exported_from_live_calls_without_a_declaration():
    @tuneonce.cutile.autotune([{"TILE": tile, "occupancy": n} for tile in (64, 128) for n in (1, 2)], device="cpu",
                              grid=lambda config, x, y, factor, COLUMNS: (x.shape[0], ct.cdiv(COLUMNS, config["TILE"])))
    @ct.kernel
    def rows(x, y, factor, COLUMNS: ct.Constant[int], TILE: ct.Constant[int]):
        index = (ct.bid(0), ct.bid(1))
        ct.store(y, index=index, tile=ct.load(x, index=index, shape=(1, TILE), padding_mode=ct.PaddingMode.ZERO) * factor)
    on_cpu(rows, """
  const long begin = static_cast<long>(block.y) * TILE;
  for (long i = begin; i < begin + TILE && i < COLUMNS; ++i) y[block.x * y_s0 + i] = x[block.x * x_s0 + i] * factor;""")
    expect(ValueError, "was not called by tuneonce yet", lambda: rows.export("unused"))
    for m in (48, 16):
        x, y = normal(m, 320), zeros(m, 320)
        rows(x, y, 2.0, 320)
        assert numpy.array_equal(y, x * 2)
    with tempfile.TemporaryDirectory() as folder:
        rows.export(folder)
        manifest = json.loads((pathlib.Path(folder) / "manifest.json").read_text())
        tuneonce.Bundle(folder).check()
    assert [v["name"] for v in manifest["variants"]] == ["tile_x_1320", "tile_any_x_1320"], manifest["variants"]
    assert {a["name"] for a in manifest["axes"]} == {"TILE", "occupancy"}
    assumed = manifest["variants"][0]["assumptions"]
    assert {"tensor": "x", "dimension": 1, "extent": 320} in assumed, assumed
    expect(ValueError, "call the kernel with other sizes", lambda: [rows(normal(64, 64), zeros(64, 64), 2.0, 64), rows.export("unused")])


run_tests(globals(), sys.argv[1:])
