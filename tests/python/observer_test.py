#!/usr/bin/env python3
"""What observers and callbacks of the Python package are told, on the CPU device: observer_test.py BUNDLES_FOLDER [NAME ...].
Needs tuneonce and numpy."""
import gc
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import weakref

import numpy as np

import tuneonce
from running import expect, run_tests

folder = pathlib.Path(sys.argv[1])


class Told(tuneonce.Observer):
    """Keeps what it is told."""

    def __init__(self):
        self.calls = []

    def on_tune_begin(self, kernel, key):
        self.calls.append(("begin", kernel, key))

    def on_tuned(self, kernel, key, result):
        self.calls.append(("tuned", kernel, key))
        self.result = result

    def on_tune_failed(self, kernel, key, why):
        self.calls.append(("failed", kernel, key))
        self.why = why

    def on_stored_hit(self, kernel, key, config):
        self.calls.append(("stored", kernel, key))
        self.config = config

    def on_refused_miss(self, kernel, key):
        self.calls.append(("refused", kernel, key))

    def on_warning(self, line):
        self.calls.append(("warning", line))


CODE = """
static void one(const tuneonce_block&, const float* x, float* y, int n) {{ {body} }}
TUNEONCE_CPU_KERNEL(one);
"""
SAME = "for (int i = 0; i < n; ++i) y[i] = x[i];"


def bundle_of(path, bodies, baseline="a"):
    """Floats are copied, by a config per body."""
    one = {"kind": "tensor", "dtype": "float32", "dims": ["N"]}
    manifest = {
        "tuneonce_bundle": 1, "name": "copies", "version": "1", "dims": ["N"],
        "parameters": [{"name": "x", "access": "in", **one}, {"name": "y", "access": "out", **one}, {"kind": "dim", "dim": "N"}],
        "axes": [{"name": "BODY", "kind": "structural", "values": list(bodies)}], "baseline": {"BODY": baseline},
        "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "one", "grid": {"pattern": "fixed", "blocks": [1]},
                      "artifacts": [{"config": {"BODY": name}, "file": f"{name}.cc"} for name in bodies]}]}
    pathlib.Path(path, "manifest.json").write_text(json.dumps(manifest))
    for name, body in bodies.items():
        pathlib.Path(path, f"{name}.cc").write_text(CODE.format(body=body))
    return path


KEY = "N=1, x:float32, y:float32"


def spin(times):
    return f"for (volatile int i = 0; i < {times}; ++i) {{}} " + SAME


def one_float():
    return np.ones(1, np.float32), np.zeros(1, np.float32)


def test_a_search_with_failures_and_duplicates_is_told_whole():
    bodies = {"a": spin(4000000), "b": spin(4000000), "quick": spin(10), "wrong": "*y = *x + 1;",
              "broken": "no_such_function();", "unwritten": ";"}
    with tempfile.TemporaryDirectory() as path:
        told = Told()
        kernel = tuneonce.load(pathlib.Path(bundle_of(path, bodies)), "cpu", store="memory", observer=told)
        kernel(*one_float())
    assert told.calls == [("begin", "copies", KEY), ("tuned", "copies", KEY)], told.calls
    result = told.result
    assert isinstance(result, tuneonce.TuningRecord) and result.kernel == "copies"
    assert result.best.config == {"BODY": "quick"} and result.best == result.successes[0] and result.best.variant == "cpu"
    assert [success.config["BODY"] for success in result.successes] == ["quick", "a"], result
    assert result.successes[0].median_us < result.successes[1].median_us and not result.successes[1].ties_with_fastest
    assert [(each.config, each.same_as) for each in result.duplicates] == [({"BODY": "b"}, {"BODY": "a"})], result.duplicates
    kinds = {failure.config["BODY"]: failure.kind for failure in result.failures}
    assert kinds == {"wrong": "wrong_result", "broken": "compile", "unwritten": "not_written"}, kinds
    assert "no_such_function" in result.failures[1].message and not result.failures[1].is_transient, result.failures
    assert result.baseline is not None and result.baseline.config == {"BODY": "a"} and result.speedup_over_baseline > 2
    assert result.not_measured == () and result.timer == "events" and result.cost.num_compiled >= 4, result
    assert result.device_before is None and result.device_after is None, "of the CPU device nothing is known"
    assert 0 < result.cost.compile_wall_seconds <= result.cost.wall_seconds and result.cost.num_launches > 0, result.cost
    assert "2 successes, 3 failures, 1 duplicates" in repr(result) and "\n" not in repr(result), repr(result)
    for words in ("*  {'BODY': 'quick'}", " b {'BODY': 'a'}", "'BODY': 'b'}: the same as {'BODY': 'a'}", "compile: "):
        assert words in str(result), str(result)


def test_what_a_budget_leaves_out_is_told():
    bodies = {name: spin(10 + i) for i, name in enumerate("abcdef")}
    bodies["a"] += " volatile int v; " + "v = 1; " * 100000  # A busy machine ends its compile before it is through.
    with tempfile.TemporaryDirectory() as path:
        told = Told()
        kernel = tuneonce.load(pathlib.Path(bundle_of(path, bodies)), "cpu", store="memory", observer=told, compile_workers=1,
                               compile_budget_ms=1, on_tune_error="raise")
        expect(tuneonce.Error, "", lambda: kernel(*one_float()))  # Not even the baseline.
        assert [call[0] for call in told.calls] == ["begin", "failed"], told.calls
        assert isinstance(told.why, tuneonce.Error), told.why
        told.calls.clear()
        short = tuneonce.load(pathlib.Path(path), "cpu", store="memory", observer=told, max_rounds=1, final_rounds=0)
        short(*one_float())
        assert told.result.cost.num_rounds <= 1 and max(s.num_samples for s in told.result.successes) <= 1, told.result
        assert told.result.best.error_margin_us is None and not told.result.is_conclusive, told.result


def test_stored_hits_refused_misses_and_warnings_are_told():
    with tempfile.TemporaryDirectory() as path:
        bundle, store = pathlib.Path(bundle_of(path, {"a": SAME, "b": spin(9)})), path + "/user/store.db"
        tuneonce.load(bundle, "cpu", store=store)(*one_float())
        told = Told()
        again = tuneonce.load(bundle, "cpu", store=store, observer=told)
        again(*one_float())
        assert told.calls == [("stored", "copies", KEY)] and told.config.startswith("BODY="), (told.calls, told.config)
        again.freeze()
        again(np.ones(2, np.float32), np.zeros(2, np.float32))
        assert told.calls[1:] == [("refused", "copies", KEY.replace("N=1", "N=2"))], told.calls


def test_what_an_observer_raises_stops_no_call():
    class Raises(tuneonce.Observer):
        def on_tune_begin(self, kernel, key):
            raise OSError("no disk")

    seen = []
    hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: seen.append(unraisable.exc_value)
    try:
        with tempfile.TemporaryDirectory() as path:
            kernel = tuneonce.load(pathlib.Path(bundle_of(path, {"a": SAME})), "cpu", store="memory", observer=Raises())
            x, y = one_float()
            kernel(x, y)
    finally:
        sys.unraisablehook = hook
    assert y[0] == 1 and kernel.counters()["tunes"] == 1
    assert [str(each) for each in seen] == ["no disk"], seen


def test_keyboard_interrupt_in_an_observer_ends_the_call():
    class Interrupts(tuneonce.Observer):
        def on_tune_begin(self, kernel, key):
            raise KeyboardInterrupt("from the observer")

    with tempfile.TemporaryDirectory() as path:
        bundle = pathlib.Path(bundle_of(path, {"a": SAME}))
        kernel = tuneonce.load(bundle, "cpu", store="memory", observer=Interrupts())
        for attempt in (lambda: kernel(*one_float()), lambda: kernel.warmup([(1,)]), lambda: kernel.warmup_with(*one_float()),
                        lambda: tuneonce.warmup_all([(kernel, [(1,)])])):
            expect(KeyboardInterrupt, "from the observer", attempt)
        assert not kernel.is_ready(*one_float()) and kernel.counters()["failed_tunes"] == 0, kernel.counters()
        raised = []

        def in_a_thread():
            try:
                kernel(*one_float())
            except KeyboardInterrupt as error:
                raised.append(error)
        thread = threading.Thread(target=in_a_thread)
        thread.start()
        thread.join()
        assert len(raised) == 1, "it ends the call of the thread that it was raised on"
        tuneonce.load(bundle, "cpu", store="memory")(*one_float())  # The next is not interrupted.


RECURSE = """
import faulthandler, signal, sys
faulthandler.dump_traceback_later(60, exit=True)  # It hung.
import numpy, tuneonce
x, y = numpy.ones((8, 64), "f"), numpy.zeros((8, 64), "f")
said = []
def recurse(*_):
    for call in (lambda: kernel(x, y), lambda: kernel(x[:3], y[:3]), lambda: kernel.explain(x, y)):
        try:
            said.append(type(call()).__name__)
        except tuneonce.FailedPreconditionError as e:
            assert "launched from inside a callback" in str(e), e
            said.append("refused")
class Recursive(tuneonce.Observer):
    def on_tune_begin(self, *_):
        recurse()
"""


def test_an_observer_that_calls_its_kernel_is_refused_and_does_not_hang():
    done = subprocess.run([sys.executable, "-c", RECURSE + """
kernel = tuneonce.load("softmax", "cpu", store="memory", observer=Recursive())
kernel(x, y)
assert said == ["refused", "refused", "LaunchPlan"] and kernel.is_ready(x, y), said
"""], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_signal_handler_that_calls_the_kernel_is_refused_and_does_not_hang():
    done = subprocess.run([sys.executable, "-c", RECURSE + """
signal.signal(signal.SIGALRM, recurse)
class Alarming(tuneonce.Observer):
    def on_tune_begin(self, *_):
        signal.setitimer(signal.ITIMER_REAL, 0.01)  # While it compiles.
kernel = tuneonce.load("softmax", "cpu", store="memory", observer=Alarming())
kernel(x, y)
assert said == ["refused", "refused", "LaunchPlan"], said
"""], capture_output=True, text=True, env={k: v for k, v in os.environ.items() if k != "TUNEONCE_CXX"})
    assert done.returncode == 0, done.stderr


def test_what_a_callback_of_a_warm_up_raises_is_raised():
    def raises(*_):
        raise ZeroDivisionError("from the callback")

    with tempfile.TemporaryDirectory() as path:
        kernel = tuneonce.load(pathlib.Path(bundle_of(path, {"a": SAME})), "cpu", store="memory")
        expect(ZeroDivisionError, "from the callback", lambda: kernel.warmup([(1,), (2,), (3,)], on_done=raises))
        assert kernel.counters()["tunes"] == 1, "it ends the warm-up"
        expect(ZeroDivisionError, "from the callback",
               lambda: tuneonce.warmup_all([(kernel, [(4,), (5,), (6,)])], on_progress=raises))
        kernel.warmup([(7,)])  # The next is not ended.
        expect(TypeError, "on_done is a function", lambda: kernel.warmup([(1,)], on_done=3))
        expect(TypeError, "on_progress is a function", lambda: tuneonce.warmup_all([(kernel, [(1,)])], on_progress=3))


def test_an_observer_that_knows_its_kernel_is_collected():
    with tempfile.TemporaryDirectory() as path:
        told = Told()
        told.kernel = tuneonce.load(pathlib.Path(bundle_of(path, {"a": SAME})), "cpu", store="memory", observer=told)
        told.kernel(*one_float())
        gone = weakref.ref(told)
        del told
        gc.collect()
        assert gone() is None


def test_an_observer_has_no_methods_that_nobody_calls():
    def misspelt():
        class Misspelt(tuneonce.Observer):
            def on_tunes(self, kernel, key):
                pass
    expect(TypeError, "no notification 'on_tunes'; the notifications are on_tune_begin, on_tuned, on_tune_failed", misspelt)


run_tests(globals(), sys.argv[2:])
