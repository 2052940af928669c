#!/usr/bin/env python3
"""The Python package on the CPU device with numpy: python_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce on PYTHONPATH."""
import gc
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import tuneonce
from running import expect, run_tests

folder = pathlib.Path(sys.argv[1])


def kernel_of(name, **options):
    return tuneonce.TunedKernel(folder / name, "cpu", store="memory", **options)


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def soft_arguments(m=8, n=64):
    return np.random.rand(m, n).astype(np.float32), np.zeros((m, n), np.float32)


def test_arrays_may_be_freed_as_soon_as_a_call_failed():
    with tempfile.TemporaryDirectory() as made:
        bundle = pathlib.Path(made) / "vector_add"
        shutil.copytree(folder / "vector_add", bundle)
        manifest = json.loads((bundle / "manifest.json").read_text())
        for variant in manifest["variants"]:
            variant["requires"] = "N < 5"
        (bundle / "manifest.json").write_text(json.dumps(manifest))
        kernel = tuneonce.TunedKernel(bundle, "cpu", store="memory")
        for _ in range(5):
            x, y, z = (np.ones(2_000_000, np.float32) for _ in range(3))
            expect(tuneonce.Error, "N < 5", lambda: kernel(x, y, z))
            del x, y, z
            np.ones(2_000_000, np.float32)


def test_it_tunes_once_and_counts():
    kernel = kernel_of("softmax")
    x, y = soft_arguments()
    assert not kernel.is_ready(x, y)
    for _ in range(3):
        kernel(x, y)
    assert kernel.is_ready(x, y)
    counters = kernel.counters()
    assert counters["tunes"] == 1 and counters["hits"] == 2, counters
    assert kernel.name == "softmax" and kernel.dims == ("M", "N") and repr(kernel) == "<tuneonce.TunedKernel 'softmax'>"


def test_what_would_run_is_said_and_can_be_pinned_and_tuned_again():
    kernel = kernel_of("softmax")
    x, y = soft_arguments()
    plan = kernel.explain(x, y)
    assert (plan.action, plan.reason, plan.config, plan.record) == ("search", "no_record", None, None), plan
    assert plan.miss == "no_record", plan
    assert kernel.explain({"M": 8, "N": 64}) == plan
    kernel(x, y)
    plan = kernel.explain(x, y)
    assert (plan.action, plan.reason, plan.origin, plan.match) == ("selected", "ready", "search", "exact"), plan
    assert plan.miss is None and kernel.counters()["misses_no_record"] == 1, plan
    assert isinstance(plan, tuneonce.LaunchPlan) and plan.record.is_complete and plan.record.best.mean_us > 0
    assert plan.config and plan.variant == "cpu" and plan.key.startswith("M<=8, N=64"), plan
    y[:] = 0
    kernel.explain(x, y)
    assert not y.any() and kernel.counters()["hits"] == 0, "nothing is launched"
    baseline = plan.record.baseline.config
    kernel.pin({"M": 8, "N": 64}, baseline)
    plan = kernel.explain(x, y)
    assert (plan.origin, plan.config) == ("pinned", baseline) and kernel.counters()["now"]["pinned_keys"] == 1
    kernel(x, y)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
    expect(tuneonce.FailedPreconditionError, "is pinned", lambda: kernel.retune((8, 64)))
    kernel.unpin((8, 64))
    expect(tuneonce.NotFoundError, "is not pinned", lambda: kernel.unpin((8, 64)))
    kernel.retune({"M": 8, "N": 64})
    kernel.retune_with(x, y)
    assert kernel.counters()["tunes"] == 3 and kernel.explain(x, y).origin == "search"
    kernel.pin((8, 64), baseline, stored=True)
    for wrong, error, words in [({}, tuneonce.InvalidArgumentError, "has no value"),
                                ({"COLOUR": 1}, tuneonce.InvalidArgumentError, "no axis 'COLOUR'"),
                                ({list(baseline)[0]: []}, TypeError, "the value must be an int, float, bool or str"),
                                ({1: 1}, TypeError, "a dict {axis: value}")]:
        expect(error, words, lambda: kernel.pin((8, 64), wrong))
    expect(TypeError, "dict", lambda: kernel.pin((8, 64), [1]))
    expect(TypeError, "takes 2 arguments", lambda: kernel.explain(x))
    expect(tuneonce.InvalidArgumentError, "the dim 'N'", lambda: kernel.explain({"M": 8}))


def test_a_bundle_is_loaded_by_name_or_by_folder():
    x, y, z = np.full(1000, 2, np.float32), np.full(1000, 3, np.float32), np.zeros(1000, np.float32)
    for which in ("vector_add", str(folder / "vector_add"), folder / "vector_add", tuneonce.Bundle("vector_add")):
        kernel = tuneonce.load(which, "cpu", store="memory")
        z[:] = 0
        kernel(x, y, z)
        assert (z == 5).all() and kernel.name == "vector_add"
    expect(tuneonce.NotFoundError, "; the installed bundles are: ", lambda: tuneonce.load("nonsense", "cpu"))
    expect(tuneonce.NotFoundError, "no bundle folder './vector_add'",
           lambda: tuneonce.load(pathlib.Path("vector_add"), "cpu"))  # A path is never a name.
    expect(TypeError, "", lambda: tuneonce.load(7, "cpu"))


def test_warmup_and_freeze():
    kernel = kernel_of("softmax")
    seen = []
    kernel.warmup([{"M": 8, "N": 64}, (9, 64)], on_done=lambda done, error: seen.append((done, error)))
    assert seen == [(1, None), (2, None)], seen
    kernel.freeze()
    kernel(*soft_arguments(12, 64))  # In the bucket of 9.
    assert kernel.frozen_misses() == [], kernel.frozen_misses()
    kernel(*soft_arguments(20, 64))
    assert kernel.frozen_misses() == ["M<=32, N=64, x:float32, y:float32"], kernel.frozen_misses()
    assert kernel.counters()["frozen_misses"] == 1
    expect(ValueError, "dim 'N'", lambda: kernel.warmup([{"M": 8}]))
    expect(tuneonce.Error, "dim M is -1", lambda: kernel.warmup([(-1, 64)]))
    kernel.warmup([(0, 64)])
    expect(ValueError, "'Mm' is unknown: the kernel has dims M, N, tensors x, y",
           lambda: kernel.warmup([{"M": 8, "N": 64, "Mm": 8}]))


def test_a_shape_names_scalars_and_dtypes():
    kernel = kernel_of("rms_norm")
    kernel.warmup([{"M": np.int32(4), "N": 8, "eps": 1e-3, "x": "float16"}], dtypes={"w": "float16"})
    assert kernel.counters()["tunes"] == 1
    expect(ValueError, "unknown dtype 'flot'", lambda: kernel.warmup([{"M": 4, "N": 8, "x": "flot"}]))
    expect(ValueError, "'x' is a tensor, which takes a dtype, not 3", lambda: kernel.warmup([{"M": 4, "N": 8, "x": 3}]))
    expect(ValueError, "scalar 'eps' cannot be float16",
           lambda: kernel.warmup([{"M": 4, "N": 8, "eps": "float16"}]))
    expect(ValueError, "dim M is 4.0", lambda: kernel.warmup([{"M": 4.0, "N": 8}]))


def test_warmup_all():
    norm, soft = kernel_of("rms_norm"), kernel_of("softmax")
    told = []
    warmed = tuneonce.warmup_all([(norm, [{"M": 4, "N": 8}]), (soft, [(8, 64), {"M": 8}])], deadline=3600,
                                 on_progress=lambda key, *numbers: told.append((key["state"], *numbers[:2])))
    assert [key["state"] for key in warmed] == ["tuned", "tuned", "failed"], warmed
    assert warmed[1]["kernel"] is soft and warmed[1]["shapes"] == [0] and warmed[1]["complete"], warmed[1]
    assert "no value for the dim 'N'" in warmed[2]["error"] and warmed[0]["error"] is None, warmed
    assert sorted(told) == [("failed", 1, 3), ("tuned", 2, 3), ("tuned", 3, 3)], told
    x, y = soft_arguments(8, 64)
    soft(x, y)
    assert soft.counters()["hits"] == 1
    assert tuneonce.warmup_all({soft: [(8, 64)]})[0]["state"] == "ready"
    assert tuneonce.warmup_all({norm: [(9, 8)]}, deadline=0)[0]["state"] == "not_reached"
    assert tuneonce.warmup_all([]) == []
    expect(TypeError, "pairs", lambda: tuneonce.warmup_all([(3, [(8, 64)])]))
    expect(ValueError, "deadline is a number from 0 on, not -1", lambda: tuneonce.warmup_all([(soft, [])], deadline=-1))


def test_warmup_with_a_calls_arguments():
    kernel = kernel_of("rms_norm")
    x, w, y = np.ones((4, 8), np.float16), np.ones(8, np.float16), np.full((4, 8), 7, np.float16)
    kernel.warmup_with(x, w, y, 1e-5)
    assert kernel.counters()["tunes"] == 1 and (y == 7).all(), "it tunes and does not launch"
    kernel(x, w, y, 1e-5)
    assert kernel.counters()["hits"] == 1 and (y == 1).all()
    kernel.warmup([(5, 8)])  # The bundle says what eps is.
    expect(TypeError, "warmup_with takes its arguments by position", lambda: kernel.warmup_with(x, w, y, eps=1e-5))
    expect(ValueError, "on_tune_error is", lambda: kernel_of("rms_norm", on_tune_error="never"))


COMPILER = """#!/bin/sh
case "$*" in *--version*) exec c++ "$@";; esac
if [ -e {0}/slow ]; then touch {0}/started; sleep 600; fi
exec c++ "$@"
"""
TUNES = """
import os, sys, numpy, tuneonce
folder, bundle = sys.argv[1:]
kernel = tuneonce.TunedKernel(bundle, "cpu", store=folder + "/cache/store.db")
x, y = numpy.ones((8, 64), "f"), numpy.zeros((8, 64), "f")
for attempt in (lambda: kernel(x, y), lambda: kernel.warmup_with(x, y), lambda: kernel.warmup([(8, 64), (9, 64)])):
    try:
        attempt()
        sys.exit("it was not interrupted")
    except KeyboardInterrupt:
        os.remove(folder + "/started")
        print("interrupted", flush=True)
assert tuneonce.records(folder + "/cache/store.db") == [], "nothing is stored"
os.remove(folder + "/slow")
kernel(x, y)
assert abs(y.sum() - 8) < 1e-4, y.sum()
counters = kernel.counters()
assert counters["failed_tunes"] == counters["fallbacks"] == 0 and kernel.is_ready(x, y), counters
print("tuned", flush=True)
"""
WAITS = """
import os, sys, threading, numpy, tuneonce
folder, bundle = sys.argv[1:]
kernel = tuneonce.TunedKernel(bundle, "cpu", store="memory")
x, y = numpy.ones((8, 64), "f"), numpy.zeros((8, 64), "f")
try:
    threading.Thread(target=lambda: kernel(x, y.copy())).start()
    while not os.path.exists(folder + "/started"):
        pass
    kernel(x, y)  # Behind the other thread's tune, which does not see signals.
    print("it was not interrupted", flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)  # The other thread still waits for its compiler.
"""


def interrupt_child(program, times):
    """Runs it with a compiler that takes ten minutes, interrupts it each time when that has begun, and returns the rest
    of what it says."""
    with tempfile.TemporaryDirectory() as temporary:
        compiler, started = pathlib.Path(temporary) / "slow-c++", pathlib.Path(temporary) / "started"
        compiler.write_text(COMPILER.format(temporary))
        compiler.chmod(0o755)
        (pathlib.Path(temporary) / "slow").touch()
        child = subprocess.Popen([sys.executable, "-c", program, temporary, str(folder / "softmax")], text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "TUNEONCE_CXX": str(compiler)})
        try:
            for _ in range(times):
                while not started.exists() and child.poll() is None:
                    time.sleep(0.01)
                child.send_signal(signal.SIGINT)
                said = child.stdout.readline()
                assert said == "interrupted\n", (said, child.communicate(timeout=1200))
            return child.communicate(timeout=1200)
        finally:
            child.kill()


def test_ctrl_c_ends_a_call_that_tunes_and_leaves_nothing_behind():
    assert interrupt_child(TUNES, 3) == ("tuned\n", "")


def test_ctrl_c_ends_a_call_that_waits_for_another_threads_tune():
    assert interrupt_child(WAITS, 1) == ("", "")


def test_wrong_calls_say_what_is_wrong():
    kernel = kernel_of("rms_norm")
    x, w, y = np.zeros((4, 8), np.float16), np.zeros(8, np.float16), np.zeros((4, 8), np.float16)
    cases = [
        (TypeError, "takes 4 arguments, got 3", lambda: kernel(x, w, y)),
        (TypeError, "parameter 'y': expected a tensor", lambda: kernel(x, w, 3, 1.0)),
        (TypeError, "parameter 'eps': expected a number, got str", lambda: kernel(x, w, y, "a")),
        (TypeError, "the only keyword is stream", lambda: kernel(x, w, y, 1.0, streem=1)),
        (TypeError, "a stream must be an int", lambda: kernel(x, w, y, 1.0, stream="s")),
        (TypeError, "dtype that kernels do not take", lambda: kernel(x.astype(complex), w, y, 1.0)),
        (ValueError, "'w': expected a float32 tensor, the dtype of 'x', got float16[8]", lambda: kernel(x.astype("f"), w, y, 1.0)),
        (ValueError, "'x': its code is for the dtypes float16, bfloat16, not for float32[4, 8]",
         lambda: kernel(x.astype("f"), w.astype("f"), y.astype("f"), 1.0)),
        (ValueError, "extent 4 disagrees with M=0", lambda: kernel(x[:0], w, y, 1.0)),
        (TypeError, "takes 4 arguments", lambda: kernel(x[:0], w, y[:0])),
        (ValueError, "extent 5 disagrees with N=8", lambda: kernel(x, w[:5], y, 1.0)),
        (LookupError, "no bundle folder", lambda: tuneonce.TunedKernel("/does/not/exist", "cpu")),
        (ValueError, "unknown device 'gpu'", lambda: kernel_of("rms_norm") and tuneonce.Bundle(folder / "rms_norm") and
         tuneonce.TunedKernel(folder / "rms_norm", "gpu")),
        (ValueError, "mode is", lambda: kernel_of("rms_norm", mode="never")),
        (ValueError, "timer is", lambda: kernel_of("rms_norm", timer="watch")),
        (TypeError, "", lambda: tuneonce.TunedKernel(folder / "rms_norm", "cpu", stroe="memory")),
    ]
    for error, part, call in cases:
        expect(error, part, call)
    y.flags.writeable = False
    expect(TypeError, "the array is read-only", lambda: kernel(x, w, y, 1.0))
    assert issubclass(tuneonce.InvalidArgumentError, tuneonce.Error)


def test_a_call_on_nothing_does_nothing():
    kernel = kernel_of("rms_norm")
    w = np.zeros(8, np.float16)
    for rows in (np.zeros((0, 8), np.float16), np.zeros((4, 8), np.float16)[:0], np.zeros((4, 8), np.float16)[2:2, ::1]):
        kernel(rows, w, rows.copy(), 1.0)
        assert kernel.is_ready(rows, w, rows.copy(), 1.0)
    counters = kernel.counters()
    assert counters["tunes"] == counters["hits"] == counters["fallbacks"] == 0, counters


def test_arrays_that_are_not_contiguous_are_refused_by_kernels_that_take_pointers():
    kernel = kernel_of("rms_norm")
    half = np.float16
    wide, w = np.random.randn(16, 2048).astype(half), np.random.randn(1024).astype(half)
    y = np.zeros((16, 1024), half)

    def right(x):
        f = x.astype(np.float32)
        return f / np.sqrt((f * f).mean(1, keepdims=True) + 1e-5) * w

    square = np.random.randn(1024, 16).astype(half)
    cases = [
        (ValueError, "dimension 0 of 'x' has stride 2048, not 1024", wide[:, :1024]),
        (ValueError, "dimension 1 of 'x' has stride 16, not 1", square.T),
        (ValueError, "dimension 1 of 'x' has stride 2, not 1", wide[:, ::2]),
        (ValueError, "dimension 0 of 'x' has stride 0, not 1024", np.broadcast_to(w, (16, 1024))),
        (TypeError, "'x': dimension 0 has the negative stride -1024: pass a copy", wide[:, :1024].copy()[::-1]),
    ]
    for again in range(2):  # Before and after the key was tuned.
        for error, part, x in cases:
            expect(error, part, lambda: kernel(x, w, y, 1e-5))
            kernel(x.copy(), w, y, 1e-5)
            np.testing.assert_allclose(y, right(x.copy()), rtol=5e-3, atol=5e-3)
    expect(ValueError, "dimension 0 of 'y' has stride 2048, not 1024", lambda: kernel(y, w, wide[:, :1024], 1e-5))
    one = wide[:1, :1024]  # One row: its stride says nothing.
    out = np.zeros((1, 1024), half)
    kernel(one, w, out, 1e-5)
    np.testing.assert_allclose(out, right(one), rtol=5e-3, atol=5e-3)
    assert kernel.counters()["tunes"] == 2, kernel.counters()


def strided_bundle(path):
    """y = 2 x and z = 3 x, for x, y and z of any strides along the first dimension."""
    matrix = {"kind": "tensor", "dtype": "float32", "dims": ["M", "N"]}
    manifest = {
        "tuneonce_bundle": 1, "name": "two_and_three", "version": "1", "dims": ["M", "N"],
        "parameters": [{"name": "x", "access": "in", **matrix}, {"name": "y", "access": "out", **matrix},
                       {"name": "z", "access": "out", **matrix}, {"kind": "dim", "dim": "M"}, {"kind": "dim", "dim": "N"}] +
        [{"kind": "stride", "tensor": name, "dimension": 0, "dtype": "int64"} for name in "xyz"],
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "two_and_three",
                      "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cc"}]}]}
    (path / "manifest.json").write_text(json.dumps(manifest))
    (path / "k.cc").write_text("""
static void two_and_three(const tuneonce_block&, const float* x, float* y, float* z, int m, int n, long long xs,
                          long long ys, long long zs) {
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      y[i * ys + j] = 2 * x[i * xs + j];
      z[i * zs + j] = 3 * x[i * xs + j];
    }
  }
}
TUNEONCE_CPU_KERNEL(two_and_three);
""")
    return path


def test_a_kernel_that_takes_strides_gets_them_and_writes_nothing_else():
    with tempfile.TemporaryDirectory() as temporary:
        kernel = tuneonce.TunedKernel(strided_bundle(pathlib.Path(temporary)), "cpu", store="memory")
        both = np.full((6, 20), 7, np.float32)  # Outputs that lie between each other's rows.
        x = np.arange(96, dtype=np.float32).reshape(6, 16)
        for _ in range(2):
            kernel(x[:, 4:12], both[:, :8], both[:, 8:16])
            np.testing.assert_array_equal(both[:, :8], 2 * x[:, 4:12])
            np.testing.assert_array_equal(both[:, 8:16], 3 * x[:, 4:12])
            np.testing.assert_array_equal(both[:, 16:], np.full((6, 4), 7))
        expect(ValueError, "dimension 1 of 'x' has stride 2, not 1", lambda: kernel(x[:, ::2], both[:, :8], both[:, 8:16]))
        expect(TypeError, "negative stride", lambda: kernel(x[::-1, :8], both[:, :8], both[:, 8:16]))


def test_dlpack_and_cuda_array_interface():
    kernel = kernel_of("softmax")
    x, y = soft_arguments()

    class Dlpack:  # No buffer, no other protocol.
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **keywords):
            return self.array.__dlpack__(**keywords)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    before = sys.getrefcount(x)
    for _ in range(100):
        kernel(Dlpack(x), Dlpack(y))
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
    gc.collect()
    assert sys.getrefcount(x) == before, "the capsules must let go of the array"

    class Cuda:
        __cuda_array_interface__ = {"shape": (8, 64), "typestr": "<f4", "data": (4096, False), "version": 3}

    expect(TypeError, "the tensor is in CUDA memory, the kernel runs on the CPU device", lambda: kernel(Cuda(), y))
    Cuda.__cuda_array_interface__["strides"] = (258, 4)
    expect(TypeError, "dimension 0 has a stride of 258 bytes, which is not a multiple of the elements' 4", lambda: kernel(Cuda(), y))
    Cuda.__cuda_array_interface__["strides"] = (-256, 4)
    expect(TypeError, "dimension 0 has the negative stride -64: pass a copy", lambda: kernel(Cuda(), y))


def test_eight_threads():
    kernel = kernel_of("softmax")
    errors = []

    def work(rows):
        try:
            for _ in range(200):
                x, y = soft_arguments(rows)
                kernel(x, y)
                np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
        except Exception as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=work, args=(8 + i % 2,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert kernel.counters()["tunes"] == 2


def test_the_gil_is_free_while_tuning():
    kernel = kernel_of("matmul")
    a = np.zeros((64, 64), np.float16)
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    kernel(a, a.copy(), a.copy())
    end = time.perf_counter()
    stop.set()
    thread.join()
    times = [start] + [t for t in ticks if start < t < end] + [end]
    longest = max(b - a for a, b in zip(times, times[1:]))
    # With the GIL held, the longest pause would be all of it. Not a count: other tests may have the machine's cores.
    assert longest < (end - start) / 2, (longest, end - start, len(ticks))


def test_a_million_calls_leak_nothing():
    kernel = kernel_of("softmax")
    x, y = soft_arguments(1, 4)
    kernel(x, y)

    def calls(count):
        for _ in range(count):
            try:
                kernel(x, 1)  # Read, refused and unwound: the whole way of an argument, a million times.
            except TypeError:
                pass

    calls(20000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(1000000)
    for _ in range(5000):
        kernel(x, y)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert after - before < 4096, f"{after - before} KiB more"


def test_import_is_cheap_and_brings_no_torch():
    code = ("import time; t = time.perf_counter(); import tuneonce; tuneonce.TunedKernel; "
            "ms = (time.perf_counter() - t) * 1e3; import sys; assert 'torch' not in sys.modules; print(ms)")
    best = min(float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)
               for _ in range(5))
    assert best <= 50, f"{best} ms"


def test_modes():
    x, y = soft_arguments()
    in_background = kernel_of("softmax", mode="tune_deferred")
    for _ in range(3):
        in_background(x, y)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
    counters = in_background.counters()
    assert counters["tunes"] == 0 and counters["fallbacks"] == 3 and counters["now"]["pending_keys"] == 1, counters
    assert not in_background.is_ready(x, y)
    assert counters["now"]["kept_inputs_bytes"] >= x.nbytes and counters["inputs_not_kept"] == 0, counters
    in_background.tune_pending()
    counters = in_background.counters()
    assert counters["now"]["kept_inputs_bytes"] == 0, counters
    frugal = kernel_of("softmax", mode="tune_deferred", kept_inputs_bytes=0)
    frugal(x, y)
    assert frugal.counters()["inputs_not_kept"] == 1, frugal.counters()
    assert counters["tunes"] == 1 and counters["now"]["pending_keys"] == 0 and in_background.is_ready(x, y), counters
    in_background(x, y)
    assert in_background.counters()["fallbacks"] == 3
    in_background.release_retired()
    in_background(x, y)
    np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
    fixed = kernel_of("softmax", mode="fallback_only")
    fixed(x, y)
    assert fixed.counters()["fallbacks"] == 1 and fixed.counters()["tunes"] == 0
    # In a process that has compiled nothing.
    code = ("import sys, numpy, tuneonce; x = numpy.ones((4, 8), numpy.float32); "
            "kernel = tuneonce.TunedKernel(sys.argv[1], device='cpu', mode='stored_only')\n"
            "try: kernel(x, x.copy())\n"
            "except tuneonce.UnavailableError as error: print(error)")
    said = subprocess.run([sys.executable, "-c", code, folder / "softmax"], check=True, capture_output=True,
                          text=True, env={**os.environ, "TUNEONCE_STORE": "memory"}).stdout
    assert "kStoredOnly compiles nothing" in said, said


def test_a_trace_of_what_a_block_tuned_is_written_also_if_it_raises():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "trace.json"
        x, y = soft_arguments()
        try:
            with tuneonce.trace(path):
                kernel_of("softmax")(x, y)
                raise KeyError("the block's")
        except KeyError:
            pass
        names = [event.get("name", "") for event in json.loads(path.read_text())["traceEvents"]]
        assert any(name.startswith("compile") for name in names) and "search softmax" in names, names
        with open(path) as opened:  # Its number would be written to, and closed.
            expect(TypeError, "path is a path (str or os.PathLike), not ", tuneonce.trace(opened.fileno()).__enter__)
            assert opened.read(1)
        with tuneonce.trace(path):
            pass
        assert not any(e.get("name", "").startswith("search") for e in json.loads(path.read_text())["traceEvents"])


def test_doctor_and_disable_autotune():
    assert any(finding["name"] == "C++ compiler" for finding in tuneonce.doctor()["findings"])
    tuneonce.disable_autotune()
    try:
        kernel = kernel_of("softmax")
        x, y = soft_arguments()
        kernel(x, y)
        np.testing.assert_allclose(y, softmax(x), rtol=1e-5)
        assert kernel.counters()["tunes"] == 0 and kernel.counters()["fallbacks"] == 1
    finally:
        tuneonce.disable_autotune(False)


run_tests(globals(), sys.argv[2:])
