#!/usr/bin/env python3
"""What the Python package takes and what it refuses: options, stores and scalars, on the CPU device: options_test.py
BUNDLES_FOLDER [NAME ...]. Needs tuneonce and numpy."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import tuneonce
from running import expect, run_tests

folder = pathlib.Path(sys.argv[1])


def load(**options):
    return tuneonce.load(folder / "softmax", "cpu", **options)


def arguments(m=8):
    return np.random.rand(m, 64).astype(np.float32), np.zeros((m, 64), np.float32)


def test_options_of_another_type_are_refused_in_one_line():
    wrong = [
        (TypeError, "store is a file's path, 'memory', None (the user's store), 'redis://HOST:PORT/NAME'", dict(store=3)),
        (TypeError, "not b'memory'", dict(store=b"memory")),
        (ValueError, "store must be a file's path, not ''", dict(store="")),
        (ValueError, "store must not be an empty list", dict(store=[])),
        (TypeError, "a shipped store is a file's path, not None", dict(store=["memory", None])),
        (TypeError, "has no keyword 'stroe'; it has bundle, device, store, timer, observer, ranks, mode,", dict(stroe="memory")),
        (TypeError, "warm is True or False, not 'no'", dict(warm="no")),
        (TypeError, "quiet is True or False, not 1", dict(quiet=1)),
        (TypeError, "max_rounds is an int, not True", dict(max_rounds=True)),
        (TypeError, "max_rounds is an int, not 3.0", dict(max_rounds=3.0)),
        (ValueError, "max_rounds is a number from 0 to 2147483647, not -1", dict(max_rounds=-1)),
        (ValueError, "not 2147483648", dict(max_rounds=1 << 31)),
        (TypeError, "gpu_budget_ms is a number, not '3'", dict(gpu_budget_ms="3")),
        (ValueError, "gpu_budget_ms is a number from 0 on, not nan", dict(gpu_budget_ms=float("nan"))),
        (ValueError, "baseline_margin is a number from 0 on, not -1", dict(baseline_margin=-1)),
        (TypeError, "mode is 'tune_on_miss', 'tune_deferred', 'stored_only' or 'fallback_only', not 3", dict(mode=3)),
        (ValueError, "not 'never'", dict(on_tune_error="never")),
        (TypeError, "selection_group is a str, not 3", dict(selection_group=3)),
        (TypeError, "observer is a tuneonce.Observer, not <function", dict(observer=expect)),
        (TypeError, "timer is 'cupti' or 'events', not 1", dict(timer=1)),
    ]
    before = set(os.listdir())
    for error, words, options in wrong:
        expect(error, words, lambda: load(**options))
        try:
            load(**options)
        except error as e:
            assert "\n" not in str(e), e
    expect(TypeError, "device is a str, not 3", lambda: tuneonce.load("softmax", 3))
    expect(TypeError, "bundle is a path (str or os.PathLike), not 7", lambda: tuneonce.load(7, "cpu"))
    expect(TypeError, "needs a bundle", lambda: tuneonce.TunedKernel())
    expect(TypeError, "bundle and device by position", lambda: tuneonce.TunedKernel("softmax", "cpu", "memory"))
    expect(TypeError, "two values for device", lambda: tuneonce.TunedKernel("softmax", "cpu", device="cpu"))
    expect(TypeError, "path is a path (str or os.PathLike), not 3", lambda: tuneonce.records(3))
    expect(TypeError, "disable is True or False, not 'x'", lambda: tuneonce.disable_autotune("x"))
    expect(TypeError, "stored is True or False, not 1", lambda: load(store="memory").pin((8, 64), {}, stored=1))
    expect(TypeError, "deadline is a number, not 'soon'", lambda: tuneonce.warmup_all([(load(store="memory"), [])], deadline="soon"))
    expect(TypeError, "a stream must be an int", lambda: load(store="memory").tune_pending(stream=True))
    assert set(os.listdir()) == before, "no file is made by a wrong option"


def test_calls_of_another_form_are_refused_in_one_line():
    kernel, norm = load(store="memory"), tuneonce.load(folder / "rms_norm", "cpu", store="memory")
    surrogate = "\udce9"
    wrong = [
        (TypeError, "shapes is a list of shapes, not None", lambda: kernel.warmup(None)),
        (TypeError, "shapes is a list of shapes, not {'M': 16, 'N': 64}", lambda: kernel.warmup({"M": 16, "N": 64})),
        (ValueError, "a shape needs one value per dim (M, N), not (1, 2, 3)", lambda: kernel.warmup([(1, 2, 3)])),
        (TypeError, "M is an int, not 'a'", lambda: kernel.warmup([{"M": "a", "N": 64}])),
        (TypeError, "eps is an int, float or bool, not 'a'", lambda: norm.warmup([{"M": 4, "N": 64, "eps": "a"}])),
        (TypeError, "dtypes is a dict {tensor: dtype}, not 1", lambda: kernel.explain({"M": 3}, 1)),
        (TypeError, "a dtype is a str, not 1", lambda: kernel.explain({"M": 3}, {"x": 1})),
        (ValueError, "a stream is the address of a CUDA stream, not 1180591620717411303424", lambda: kernel(stream=2**70)),
        (TypeError, "warmup_all takes (kernels, deadline, stream, on_progress), and has no keyword 'foo'",
         lambda: tuneonce.warmup_all([], foo=3)),
        (TypeError, "warmup_all takes (kernels, deadline, stream, on_progress), and kernels is missing", tuneonce.warmup_all),
        (TypeError, "warmup_all got two values for kernels", lambda: tuneonce.warmup_all([], kernels=[])),
        (TypeError, "kernels is a list of pairs (TunedKernel, shapes), or a dict of them, not 3", lambda: tuneonce.warmup_all(3)),
        (TypeError, "disable_autotune takes (disable), not 2 arguments", lambda: tuneonce.disable_autotune(True, True)),
        (TypeError, "Bundle takes (folder), not 2 arguments", lambda: tuneonce.Bundle("softmax", "cpu")),
        (TypeError, "target is a str, not 3", lambda: tuneonce.families.dense_matmul(3)),
        (TypeError, "M is an int, not 'x'", lambda: tuneonce.families.dense_matmul("sm_90", M="x")),
        (ValueError, "selection_group is a str without lone surrogates, not '\\udce9'", lambda: load(selection_group=surrogate)),
        (ValueError, "device is a str without lone surrogates", lambda: tuneonce.load("softmax", surrogate)),
        (TypeError, "TunedKernel has no keyword '\\udce9'", lambda: load(**{surrogate: 1})),
        (ValueError, "mode is 'tune_on_miss', ", lambda: load(mode=surrogate)),
    ]
    for error, words, call in wrong:
        expect(error, words, call)
        try:
            call()
        except error as e:
            assert "\n" not in str(e), e


def test_objects_that_were_not_initialized_are_refused():
    from tuneonce import _tuneonce
    bundle, configs = tuneonce.Bundle.__new__(tuneonce.Bundle), _tuneonce._ConfigSet.__new__(_tuneonce._ConfigSet)
    compile_ = _tuneonce._TileIrCompile.__new__(_tuneonce._TileIrCompile)
    for use in (lambda: bundle.name, lambda: repr(bundle), bundle.check, lambda: tuneonce.TunedKernel(bundle, "cpu"), configs.size,
                compile_.wait):
        expect(TypeError, "was not initialized: its __init__ was not called", use)


def test_files_whose_names_are_not_utf_8_are_files():
    with tempfile.TemporaryDirectory() as path:
        there = os.path.join(path, os.fsdecode(b"lat\xe9"))
        shutil.copytree(folder / "softmax", there)
        store = os.path.join(there, "store.db")
        for bundle in (there, pathlib.Path(there)):
            kernel = tuneonce.load(bundle, "cpu", store=store)
            kernel(*arguments())
        assert tuneonce.Bundle(there).name == "softmax" and kernel.counters()["stored_hits"] == 1
        assert len(tuneonce.records(store)) == len(tuneonce.records(pathlib.Path(store))) == 1
        assert tuneonce.families.classify(there)["kernel"] == "softmax"
        report = tuneonce.report(store)
        report.save(os.path.join(there, "page.html"))
        assert "| softmax |" in report.markdown() and "lat\\xe9" in repr(report), report
        assert {b"store.db", b"page.html"} <= set(os.listdir(os.path.join(os.fsencode(path), b"lat\xe9")))
        expect(tuneonce.NotFoundError, "lat\\xe9/none", lambda: tuneonce.load(there + "/none", "cpu"))
        expect(tuneonce.NotFoundError, "lat\\xe9/none.db", lambda: tuneonce.records(there + "/none.db"))


def test_what_counts_as_an_int_or_a_number_is_taken():
    kernel = load(store="memory", max_rounds=np.int64(3), gpu_budget_ms=np.float64(20), race_budget_ms=100, seed=7,
                  compile_workers=1, memory_budget_bytes=1 << 30, max_ready_keys=10, max_wait_ms=0, verify=False)
    kernel(*arguments())
    assert kernel.counters()["tunes"] == 1


def test_what_is_returned_as_a_dict_has_the_fields_that_its_type_says():
    with tempfile.TemporaryDirectory() as path:
        kernel = load(store=path + "/store.db")
        kernel(*arguments())
        assert set(kernel.counters()) == set(tuneonce.Counters.__annotations__)
        record = tuneonce.records(path + "/store.db")[0]
        assert record.device and record.tuned_at and isinstance(record, tuneonce.TuningRecord), record
        assert set(tuneonce.warmup_all([(kernel, [(8, 64)])])[0]) == set(tuneonce.WarmedKey.__annotations__)
        doctor = tuneonce.doctor()
        assert set(doctor) >= set(tuneonce.Doctor.__annotations__), doctor
        assert all(set(f) == {"name", "found", "detail", "advice"} for f in doctor["findings"]), doctor


def killer_bundle(path):
    """A vector_add whose config KIND=1 ends its process."""
    manifest = {
        "tuneonce_bundle": 1, "name": "killer", "version": "1", "dims": ["N"],
        "parameters": [{"name": "x", "kind": "tensor", "dtype": "float32", "dims": ["N"], "access": "in"},
                       {"name": "y", "kind": "tensor", "dtype": "float32", "dims": ["N"], "access": "out"},
                       {"kind": "dim", "dim": "N", "dtype": "int64"}],
        "axes": [{"name": "KIND", "values": [0, 1, 2]}], "baseline": {"KIND": 0},
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "killer", "grid": {"pattern": "fixed", "blocks": [1]},
                      "defines": ["KIND"], "artifacts": [{"file": "k.cc"}]}]}
    pathlib.Path(path, "manifest.json").write_text(json.dumps(manifest))
    pathlib.Path(path, "k.cc").write_text("""
extern "C" void abort();
static void killer(const tuneonce_block&, const float* x, float* y, long n) {
  if (KIND == 1) abort();
  for (volatile int i = 0; i < (KIND == 0 ? 1000000 : 0); i = i + 1) {}
  for (long i = 0; i < n; ++i) y[i] = x[i] + 1;
}
TUNEONCE_CPU_KERNEL(killer);
""")
    return pathlib.Path(path)


def test_a_candidate_that_ends_its_process_ends_a_worker():
    results = []

    class Keep(tuneonce.Observer):
        def on_tuned(self, kernel, key, result):
            results.append(result)

    with tempfile.TemporaryDirectory() as path:
        kernel = tuneonce.load(killer_bundle(path), "cpu", store="memory", observer=Keep())
        x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
        kernel(x, y)
        assert (y == 2).all()
        assert kernel.counters()["workers_replaced"] == 1, kernel.counters()
        result, = results
        assert result.is_isolated and result.cost.workers_replaced == 1, result
        failure, = result.failures
        assert (failure.kind, failure.config) == ("crash", {"KIND": 1}), failure
    expect(ValueError, "isolation is 'off', 'preferred' or 'required', not 'on'", lambda: load(isolation="on"))
    here = load(store="memory", isolation="off", observer=Keep())
    here(*arguments())
    assert not results[1].is_isolated


def test_a_shipped_store_lies_under_the_one_that_is_written():
    with tempfile.TemporaryDirectory() as path:
        shipped, user = pathlib.Path(path, "shipped.db"), os.path.join(path, "user.db")
        load(store=shipped)(*arguments(8))
        before = shipped.read_bytes()
        kernel = load(store=[user, shipped])
        assert kernel.explain(*arguments(8)).origin == "shipped"
        kernel(*arguments(8))
        kernel(*arguments(20))
        assert kernel.counters()["stored_hits"] == 1 and kernel.counters()["tunes"] == 1, kernel.counters()
        assert [record.key[:5] for record in tuneonce.records(user)] == ["M<=32"], tuneonce.records(user)
        assert shipped.read_bytes() == before, "nothing is written to it"
        over = load(store=("memory", user, shipped), mode="stored_only")
        assert [over.explain(*arguments(m)).origin for m in (8, 20)] == ["shipped", "shipped"]
        expect(tuneonce.NotFoundError, "missing.db", lambda: load(store=["memory", path + "/missing.db"]))


def scalars_bundle(path):
    """y[0..2] = the scalars that it is called with."""
    manifest = {
        "tuneonce_bundle": 1, "name": "scalars", "version": "1", "dims": ["N"],
        "parameters": [{"name": "y", "kind": "tensor", "dtype": "float32", "dims": ["N"], "access": "out"},
                       {"name": "f", "kind": "scalar", "dtype": "float32", "warmup": 1.0},
                       {"name": "i", "kind": "scalar", "dtype": "int8", "warmup": 1},
                       {"name": "b", "kind": "scalar", "dtype": "bool", "warmup": True}],
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "scalars", "grid": {"pattern": "fixed", "blocks": [1]},
                      "artifacts": [{"file": "k.cc"}]}]}
    pathlib.Path(path, "manifest.json").write_text(json.dumps(manifest))
    pathlib.Path(path, "k.cc").write_text("""
static void scalars(const tuneonce_block&, float* y, float f, signed char i, bool b) { y[0] = f; y[1] = i; y[2] = b; }
TUNEONCE_CPU_KERNEL(scalars);
""")
    return pathlib.Path(path)


def test_scalars_of_another_type_are_refused():
    with tempfile.TemporaryDirectory() as path:
        kernel = tuneonce.load(scalars_bundle(path), "cpu", store="memory")
        y = np.zeros(3, np.float32)
        for f, i, b in ((1.5, -3, True), (2, np.int32(4), np.bool_(True)), (np.float32(0.5), True, 1), (np.float16(2), 0, False)):
            kernel(y, f, i, b)
            assert y.tolist() == [float(f), int(i), float(b)], (y, f, i, b)
        one = np.ones(1, np.float32)
        for error, words, scalars in (
                (TypeError, "parameter 'f': expected a number, got str", ("1", 1, True)),
                (TypeError, "parameter 'f': expected a number, no tensor, got numpy.ndarray", (one[0:1].reshape(()), 1, True)),
                (TypeError, "parameter 'f': expected a number, got NoneType", (None, 1, True)),
                (TypeError, "parameter 'f': expected a real number, got numpy.complex64", (np.complex64(1 + 2j), 1, True)),
                (TypeError, "parameter 'f': expected a real number, got numpy.clongdouble", (np.clongdouble(1), 1, True)),
                (TypeError, "parameter 'i': expected an int, got float", (1, 1.0, True)),
                (TypeError, "parameter 'i': expected an int, no tensor, got numpy.ndarray", (1, np.ones((), np.int32), True)),
                (OverflowError, "parameter 'i': 128 does not fit int8", (1, 128, True)),
                (TypeError, "parameter 'b': expected True or False, got str", (1, 1, "False")),
                (TypeError, "parameter 'b': expected True or False, got int", (1, 1, 2)),
                (TypeError, "parameter 'b': expected True or False, got list", (1, 1, [])),
                (TypeError, "parameter 'b': expected True or False, got float", (1, 1, 1.0))):
            expect(error, words, lambda: kernel(y, *scalars))
        assert kernel.counters()["tunes"] == 1


def small_scalars_bundle(path):
    """y[0..5] = the scalars, which are of all floating-point types; those of 8 bits as their bits."""
    dtypes = {"h": "float16", "b": "bfloat16", "q": "float8_e4m3", "r": "float8_e5m2", "f": "float32", "d": "float64"}
    manifest = {
        "tuneonce_bundle": 1, "name": "small", "version": "1", "dims": ["N"],
        "parameters": [{"name": "y", "kind": "tensor", "dtype": "float64", "dims": ["N"], "access": "out"}] +
        [{"name": name, "kind": "scalar", "dtype": dtype, "warmup": 1} for name, dtype in dtypes.items()] +
        [{"name": "u", "kind": "scalar", "dtype": "uint64", "warmup": 1}],
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "small", "grid": {"pattern": "fixed", "blocks": [1]},
                      "artifacts": [{"file": "k.cc"}]}]}
    pathlib.Path(path, "manifest.json").write_text(json.dumps(manifest))
    pathlib.Path(path, "k.cc").write_text("""
static void small(const tuneonce_block&, double* y, _Float16 h, tuneonce_bfloat16 b, unsigned char q,
                  unsigned char r, float f, double d, unsigned long long u) {
  y[0] = h; y[1] = float(b); y[2] = q; y[3] = r; y[4] = f; y[5] = d; y[6] = double(u);
}
TUNEONCE_CPU_KERNEL(small);
""")
    return pathlib.Path(path)


def test_scalars_of_every_floating_point_type_have_the_value_that_was_given():
    inf = float("inf")
    with tempfile.TemporaryDirectory() as path:
        kernel = tuneonce.load(small_scalars_bundle(path), "cpu", store="memory", on_tune_error="raise")
        y = np.zeros(7)
        for given, got in ((2, [2, 2, 0x40, 0x40, 2, 2]), (np.float16(-0.5), [-0.5, -0.5, 0xb0, 0xb8, -0.5, -0.5]),
                           (True, [1, 1, 0x38, 0x3c, 1, 1])):
            kernel(y, *[given] * 6, 7)
            assert y.tolist() == got + [7], (given, y)
        kernel(y, -inf, inf, 0, -inf, inf, -inf, (1 << 64) - 1)
        assert y.tolist() == [-inf, inf, 0, 0xfc, inf, -inf, float((1 << 64) - 1)], y
        kernel(y, 65519, 3.3895e38, 464, 57344, 3.4028235e38, 1e308, 0)  # They round to the largest.
        assert y[0] == 65504 and np.isfinite(y).all(), y
        nan = float("nan")
        kernel(y, nan, nan, nan, nan, nan, nan, 0)
        assert np.isnan(y[[0, 1, 4, 5]]).all() and y[2] == 0x7f and y[3] in (0x7d, 0x7e, 0x7f), y
        for which, value, shown in ((0, 65520, "65520 does not fit float16"), (1, 1e39, "1e+39 does not fit bfloat16"),
                                    (2, 1000, "1000 does not fit float8_e4m3"), (2, inf, "inf does not fit float8_e4m3"),
                                    (3, 1e6, "1000000.0 does not fit float8_e5m2"), (4, 1e39, "1e+39 does not fit float32"),
                                    (5, 10**400, "one of the type int does not fit float64"),
                                    (6, 1 << 64, "18446744073709551616 does not fit uint64"), (6, -1, "-1 does not fit uint64")):
            scalars = [0] * 7
            scalars[which] = value
            expect(OverflowError, f"parameter '{'hbqrfdu'[which]}': {shown}", lambda: kernel(y, *scalars))
        kernel.warmup([{"N": 7, "h": 2, "b": 2.5, "q": True, "r": -inf, "f": 0.1}])
        expect(ValueError, "'h'", lambda: kernel.warmup([{"N": 7, "h": 1e6}]))


def test_numbers_that_no_shape_or_config_holds_are_named():
    kernel = load()
    expect(ValueError, "dim N is 18446744073709551615", lambda: kernel.warmup([{"M": 8, "N": (1 << 64) - 1}]))
    for call in (lambda: kernel.warmup([{"M": 8, "N": 1 << 64}]), lambda: kernel.warmup([(8, 1 << 64)])):
        expect(ValueError, "N is a number from -9223372036854775808 to 9223372036854775807, not ", call)
    expect(ValueError, "N is a number from", lambda: kernel.warmup([{"M": 8, "N": 10**5000}]))
    expect(ValueError, "TILE is a number from", lambda: kernel.pin((8, 64), {"TILE": 1 << 64}))
    expect(TypeError, "N is an int, float, bool or the name of a dtype, not None", lambda: kernel.warmup([{"M": 8, "N": None}]))
    expect(TypeError, "N is an int, not 8.0", lambda: kernel.warmup([(8, 8.0)]))
    expect(TypeError, "a shape is a dict or a sequence of extents, not 8", lambda: kernel.warmup([8]))
    expect(TypeError, "a name in a shape is a str, not 1", lambda: kernel.warmup([{1: 8}]))


def test_a_search_over_callables_takes_the_same_options():
    kernels = {"a": lambda x: x.fill(1), "b": lambda x: np.add(x, 0, out=x) + 1}
    x = np.zeros(100)

    def search(**options):
        return tuneonce.exhaustive_search(list(kernels), None, None, lambda config: kernels[config], lambda config: (x,),
                                          device="cpu", quiet=True, **options)
    assert search(max_rounds=2, warm=True, seed=3, final_rounds=1).cost.num_rounds <= 3
    expect(TypeError, "max_rounds is an int, not '2'", lambda: search(max_rounds="2"))
    expect(TypeError, "warm is True or False, not 1", lambda: search(warm=1))
    assert not search(baseline="a", outputs=[0], verify=False).failures, "what they compute is not compared"
    assert [f.config for f in search(baseline="a", outputs=[0]).failures] == ["b"]


SUB_INTERPRETER = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    import _interpreters as interpreters
import tuneonce
tuneonce.TunedKernel  # Loaded by the main interpreter.
interpreters.run_string(interpreters.create(), "import sys; sys.path[:0] = " + repr(sys.path) + '''
try:
    import tuneonce
    tuneonce.TunedKernel
except ImportError as error:
    print("refused:", error, flush=True)
''')
"""


def test_sub_interpreters_are_refused():
    run = subprocess.run([sys.executable, "-c", SUB_INTERPRETER], capture_output=True, text=True, timeout=1200)
    assert run.stdout.startswith("refused: "), run.stdout + run.stderr


run_tests(globals(), sys.argv[2:])
