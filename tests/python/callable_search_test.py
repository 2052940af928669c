#!/usr/bin/env python3
"""exhaustive_search over callables, on the CPU device: callable_search_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce
and numpy."""
import ctypes
import dataclasses
import functools
import math
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import tuneonce
from running import expect, run_tests


def test_a_search_space_takes_conditions_as_text_and_as_functions():
    flag = [False, True]
    space = tuneonce.SearchSpace({"TILE": [64, 32], "swap": flag, "kind": ["row", "column"], "scale": [1, 0.5], "of": [None, (1, 2)]},
                                 ["TILE == 64 || !swap and kind == \"row\"", "scale != 0.5", lambda c: c["of"] or c["swap"]])
    assert list(space) == [
        {"TILE": t, "swap": s, "kind": k, "scale": 1, "of": o} for t in (64, 32) for s in flag for k in ("row", "column")
        for o in (None, (1, 2)) if (t == 64 or not s and k == "row") and (o or s)]
    assert space[0]["swap"] is False and space[-1] == list(space)[-1] and space[1:3] == list(space)[1:3]
    assert type(space[0]["TILE"]) is int and type(space[0]["scale"]) is int
    axes = {"A": [1, 2]}
    expect(ValueError, "expected '==' for a comparison, got '=' at position 3", lambda: tuneonce.SearchSpace(axes, ["A = 1"]))
    expect(ValueError, "unknown dim 'B'", lambda: tuneonce.SearchSpace(axes, ["B == 1"]))
    expect(ValueError, "condition 'A < device.num_sms' reads the device", lambda: tuneonce.SearchSpace(axes, ["A < device.num_sms"]))
    expect(ValueError, "the conditions leave no config", lambda: tuneonce.SearchSpace(axes, ["A > 2"]))
    expect(ValueError, "the conditions leave no config", lambda: tuneonce.SearchSpace(axes, [lambda c: c["A"] > 2]))
    expect(TypeError, "where is a list of conditions", lambda: tuneonce.SearchSpace(axes, "A > 1"))
    expect(TypeError, "where is a list of conditions, not None", lambda: tuneonce.SearchSpace(axes, None))
    expect(TypeError, "a condition is a text or a function, not 3", lambda: tuneonce.SearchSpace(axes, [3]))
    expect(TypeError, "axes is a dict {name: values}, not 3", lambda: tuneonce.SearchSpace(3))


def test_a_search_with_a_store_is_remembered():
    runs = []

    def scaled(x, y, step, factor=2):
        runs.append(step)
        y[:] = x * factor
    def other(x, y, step, factor=2):
        runs.append(step)
        y[:] = x * factor + 0
    x, y = np.arange(1024, dtype=np.float32), np.zeros(1024, np.float32)
    with tempfile.TemporaryDirectory() as folder:
        store = str(pathlib.Path(folder, "store.db"))

        def search(kernel=scaled, n=1024, space=({"step": 1}, {"step": 2}), **more):
            runs.clear()
            found = tuneonce.exhaustive_search(list(space), None, None, kernel, lambda c: (x[:n], y[:n], c["step"]), device="cpu",
                                               outputs=[1], quiet=True, max_rounds=2, store=store, **more)
            return found, len(runs)
        first, number = search()
        assert number > 0
        again, number = search()
        assert number == 0 and again.best.config == first.best.config and len(again.successes) == 2, again
        assert [s.mean_us for s in again.successes] == [s.mean_us for s in first.successes]
        for what in ({"kernel": other}, {"n": 512}, {"space": ({"step": 1}, {"step": 3})}, {"baseline": {"step": 2}}, {"name": "named"}):
            assert search(**what)[1] > 0, what
            assert search(**what)[1] == 0, what
        kernels = [record.kernel for record in tuneonce.records(store)]
        assert sorted(set(kernels)) == ["named", "other", "scaled"], kernels
        assert any(record.key == "0=1024 float32, 1=1024 float32, 2=1" for record in tuneonce.records(store))


def test_an_unverified_record_does_not_serve_a_search_that_verifies():
    a, c = np.arange(64.0), np.zeros(64)

    def kernel(config):
        def run(a, c):
            if config == "wrong":
                c.fill(7)
            else:
                time.sleep(0.002)
                np.add(a, 1, out=c)
        return run

    with tempfile.TemporaryDirectory() as folder:
        def best(**more):
            return tuneonce.exhaustive_search(["base", "wrong"], None, None, kernel, lambda config: (a, c), device="cpu",
                                              quiet=True, max_rounds=5, outputs=[1], store=folder + "/store.db", **more).best.config
        assert best(baseline="base", verify=False) == "wrong"
        assert best(baseline="base", verify=True) == "base" and best(baseline="base") == "base"
        expect(TypeError, "verify is True or False, not 1", lambda: best(baseline="base", verify=1))


class Slow:
    """A kernel that is fast for one config."""

    def __init__(self, fast):
        self.fast = fast

    def __call__(self, config):
        return slow_unless(self.fast, config)

    def run(self, config):
        return slow_unless(self.fast, config)


calls = []


def slow_unless(fast, config):
    def run(*arguments):
        calls[0] += 1
    return run


def first():
    calls[0] += 1


def second():
    calls[0] += 1 + 0


def launches(kernel, store, space=("x", "y"), arguments=lambda config: (), **more):
    calls[:] = [0]
    tuneonce.exhaustive_search(list(space), None, None, kernel, arguments, device="cpu", quiet=True, max_rounds=2, store=store,
                               name="k", **more)
    return calls[0]


def test_a_remembered_search_is_of_all_that_its_kernel_refers_to():
    def edited():
        class Edited:
            def __call__(self, config):
                return first
        return Edited

    def with_class_attribute(kernel):
        class Fast:
            kernels = {"x": kernel}
        return lambda config: Fast.kernels["x"]

    def with_property(kernel):
        class Of:
            @property
            def one(self):
                return kernel
        return lambda config: Of().one

    def wrapping(function):
        @functools.wraps(first)
        def wrapper():
            return function()
        return wrapper

    def with_attribute(value):
        def kernel(config):
            return first
        kernel.value = value
        return kernel

    later = edited()
    later.__call__ = lambda self, config: second
    table = np.zeros(5000)
    other = table.copy()
    other[2500] = 1
    class Counted:
        """Keeps the function that it wraps, and more."""
        def __init__(self, function, number):
            functools.update_wrapper(self, function)
            self.number = number

    class Layout:
        """Has what arrays have, but is none."""
        shape, dtype = (2, 3), "float32"

        def __init__(self, order):
            self.order = order

    def at(container):
        return lambda config: container[0]

    def using(value):
        return lambda config: (first, value)[0]

    def with_default(value):
        return lambda *arguments, of=value: first()

    part = functools.partial
    pairs = [(Slow("x"), Slow("y")), (part(slow_unless, "x"), part(slow_unless, "y")), (Slow("x").run, Slow("y").run),
             (part(lambda key, config: first, 1), part(lambda key, config: first, 2)), (edited()(), later()),
             (at([first, second]), at([second, first])), (at((first, second)), at((second, first))),
             (at({0: first}), at({0: second})), (using(math.sin), using(math.cos)), (using(np.add), using(np.multiply)),
             (using(str.upper), using(str.lower)), (using(re.compile("a")), using(re.compile("b"))),
             (using(table), using(other)),
             (using(Counted(first, 1)), using(Counted(first, 2))), (using(Layout("C")), using(Layout("F"))),
             (using(dataclasses.make_dataclass("D", [("a", int, 1)])), using(dataclasses.make_dataclass("D", [("a", int, 2)]))),
             (using(1), using(1.0)), (using({1, 2}), using({1, 3})), (with_default(1), with_default(2)),
             (wrapping(first), wrapping(second)), (with_class_attribute(first), with_class_attribute(second)),
             (with_property(first), with_property(second)), (with_attribute(1), with_attribute(2)),
             (functools.lru_cache(first), functools.lru_cache(second)),
             (lambda config: lambda: first(), lambda config: lambda: second())]
    with tempfile.TemporaryDirectory() as folder:
        for i, (one, another) in enumerate(pairs):
            store = f"{folder}/{i}.db"
            assert launches(one, store, ["x"]) and launches(another, store, ["x"]), (i, "another kernel's record served")
            assert not launches(one, store, ["x"]) and not launches(another, store, ["x"]), (i, "its own record did not serve")
        products, store = {"x": first, "y": second}, folder + "/dict.db"
        assert launches(lambda config: products[config], store) and not launches(lambda config: products[config], store)
        products["x"], products["y"] = second, first
        assert launches(lambda config: products[config], store)


def test_a_remembered_search_is_of_its_configs_grids_hints_and_arguments():
    def kernel(*arguments):
        calls[0] += 1
    table = np.zeros(5000)
    other = table.copy()
    other[2500] = 1
    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/store.db"
        for space in ([table, table + 5], [other, other + 5], [1, 2], [1.0, 2.0], [Slow("x"), Slow("y")],
                      [Slow("y"), Slow("x")], [{"a": {1, 2}}, {"a": {3}}], [{"a": {1, 2}}, {"a": {4}}]):
            assert launches(kernel, store, space) and not launches(kernel, store, space), space
        for arguments in (lambda config: (config,), lambda config: (config + "z",), lambda config: (np.float32(1),),
                          lambda config: (np.float32(2),), lambda config: ([np.zeros(3)],), lambda config: ([np.zeros(4)],),
                          lambda config: ("y" if config == "x" else "z",)):
            assert launches(kernel, store, arguments=arguments) and not launches(kernel, store, arguments=arguments)
        assert not launches(kernel, store, arguments=lambda config: ([np.ones(3)],)), "an array's elements do not count"


ANOTHER = """
import enum, functools, sys
import numpy as np
import tuneonce

class Kind(enum.Enum):
    ROW, COLUMN = 1, 2

class Kernel:
    names = {"alpha", "beta", "gamma", "delta"}
    def __init__(self):
        self.kinds = {Kind.ROW, Kind.COLUMN}
        self.me = self
        self.table = np.arange(5)
    def run(self, how, config):
        if config in ("alpha", "beta", "gamma"):
            return lambda: calls.append(1)
        return lambda: calls.append(len(self.names) + np.add(1, 1))

calls = []
kernel = functools.partial(Kernel().run, {"how": print, "set": frozenset({"a", "b", "c", Kind.ROW})})
tuneonce.exhaustive_search([kernel.func, "alpha"], None, None, lambda config: kernel(config), lambda config: (), device="cpu",
                           quiet=True, max_rounds=2, store=sys.argv[1])
print(len(calls))
"""


def test_another_process_finds_the_record_of_the_same_kernel():
    with tempfile.TemporaryDirectory() as folder:
        def run(seed, text=ANOTHER):
            return int(subprocess.run([sys.executable, "-c", text, folder + "/store.db"], capture_output=True, text=True, check=True,
                                      env={**os.environ, "PYTHONHASHSEED": seed}).stdout)
        assert run("1") > 0
        assert run("2") == 0 and run("3", "\n\n" + ANOTHER) == 0, "neither hashes nor lines count"
        assert run("4", ANOTHER.replace("np.add(1, 1)", "np.add(1, 2)")) > 0
        assert run("5", ANOTHER.replace("np.arange(5)", "np.arange(6)")) > 0


def test_a_kernel_that_no_other_process_can_compare_is_not_remembered():
    lock = threading.Lock()
    store = dict(space=["x"], store="memory")
    expect(TypeError, "the search of 'k' cannot be remembered: 'kernel.lock' is of type lock, whose state pickle cannot take; "
                      "leave out store", lambda: launches(lambda: lock, **store))
    code = ctypes.CDLL(None)
    expect(TypeError, "'kernel.code' is of type CDLL", lambda: launches(lambda: code.abs, **store))
    expect(TypeError, "'kernel' is of type TunedKernel",
           lambda: launches(tuneonce.load(pathlib.Path(sys.argv[1]) / "softmax", "cpu", store="memory"), **store))
    expect(TypeError, "'arguments' is of type lock", lambda: launches(lambda: 1, arguments=lambda config: (lock,), **store))
    assert launches(lambda *lock: first(), arguments=lambda config: (lock,), space=["x"], store=None)


def test_a_baseline_is_the_config_of_its_type():
    def baseline_of(space, baseline):
        found = tuneonce.exhaustive_search(space, None, None, lambda *a: None, lambda c: (), device="cpu", quiet=True,
                                           max_rounds=2, baseline=baseline)
        return found.baseline.config
    assert type(baseline_of([1, 1.0], 1.0)) is float and type(baseline_of([1, 1.0], 1)) is int
    assert baseline_of([{"a": 1}, {"a": True}], {"a": True})["a"] is True and baseline_of([1, 2], 2.0) == 2
    assert baseline_of([np.arange(3), np.arange(4)], np.arange(4)).size == 4
    expect(ValueError, "the baseline [0 1] is not a config of the search space",
           lambda: baseline_of([np.arange(3)], np.arange(2)))


def test_values_of_any_size_and_of_numpy_are_values_of_an_axis():
    def listed(values, *where):
        return [config["A"] for config in tuneonce.SearchSpace({"A": values}, where)]
    large = [2**63, 2**63 + 1]
    assert listed(large) == large and listed([2**63 + 1]) == [2**63 + 1] and listed([2**1100, 0.5]) == [2**1100, 0.5]
    found = listed([np.int64(3), np.int64(4)], "A > 3")
    assert found == [4] and type(found[0]) is np.int64
    assert listed([np.float32(0.5), 1.0], "A == 0.5") == [0.5] and listed([float("inf"), 1.5]) == [float("inf"), 1.5]
    assert len(listed([float("nan"), 1.5])) == 2 and listed(["\udce9", "b"]) == ["\udce9", "b"]
    expect(ValueError, "lists the value", lambda: listed([1, 1]))
    for name in (3, "\udce9"):
        expect(TypeError, "the name of an axis is a str without lone surrogates, not ",
               lambda: tuneonce.SearchSpace({name: [1]}))


def test_what_a_search_or_a_launcher_gets_wrong_is_one_line():
    class Silent(Exception):
        def __str__(self):
            raise ValueError("no text")

    def raising(error):
        def kernel(*arguments):
            raise error
        return kernel

    def search(kernel=lambda: None, space=(1,), **more):
        return tuneonce.exhaustive_search(list(space), None, None, kernel, lambda config: (), device="cpu", quiet=True,
                                          max_rounds=2, **more)
    wrong = [(TypeError, "name is a str, not 3", dict(name=3, store="memory")),
             (TypeError, "outputs is a list of positions of arguments, not 1", dict(outputs=1)),
             (TypeError, "outputs is a list of positions of arguments, not '1'", dict(outputs="1")),
             (tuneonce.InternalError, "OSError: two lines \\udce9", dict(kernel=raising(OSError("two\nlines \udce9")))),
             (tuneonce.InternalError, "the launcher: Silent", dict(kernel=raising(Silent())))]
    for error, part, options in wrong:
        expect(error, part, lambda: search(**options))
        try:
            search(**options)
        except Exception as raised:
            assert "\n" not in str(raised), raised
    assert search(space=["\udce9", "a\nb"]).best.config in ("\udce9", "a\nb")


def test_a_large_search_space_is_enumerated_quickly():
    # Kernel Tuner's hotspot: 22.2 million combinations, of which its Searchspace counts 349853 as valid.
    shared = ("(block_size_x * tile_size_x + temporal_tiling_factor * 2) * (block_size_y * tile_size_y + temporal_tiling_factor * 2)"
              " * (2 + sh_power) * 4")
    started = time.process_time()
    space = tuneonce.SearchSpace(
        {"block_size_x": [1, 2, 4, 8, 16, *range(32, 1025, 32)], "block_size_y": [1, 2, 4, 8, 16, 32],
         "tile_size_x": range(1, 11), "tile_size_y": range(1, 11), "temporal_tiling_factor": range(1, 11), "max_tfactor": [10],
         "loop_unroll_factor_t": range(1, 11), "sh_power": [0, 1], "blocks_per_sm": range(5)},
        ["block_size_x * block_size_y >= 32", "temporal_tiling_factor % loop_unroll_factor_t == 0",
         "block_size_x * block_size_y <= 1024", f"{shared} <= 49152",
         f"blocks_per_sm == 0 or {shared} * blocks_per_sm <= 102400"])
    assert len(space) == 349853 and space[0]["block_size_x"] == 1 and space[-1]["block_size_x"] == 1024
    assert time.process_time() - started < 10, "a walk over all combinations takes minutes"


def test_public_search_spaces_have_the_configs_that_their_authors_count():
    tiles, dims, vectors, flag = [16, 32, 64], [8, 16, 32], [1, 2, 4], [0, 1]
    gemm = tuneonce.SearchSpace(
        {"MWG": tiles, "NWG": tiles, "KWG": [32], "MDIMC": dims, "NDIMC": dims, "MDIMA": dims, "NDIMB": dims, "KWI": [2],
         "VWM": vectors, "VWN": vectors, "SA": flag, "SB": flag},
        ["KWG % KWI == 0", "MWG % (MDIMC * VWM) == 0", "NWG % (NDIMC * VWN) == 0", "MWG % (MDIMA * VWM) == 0",
         "NWG % (NDIMB * VWN) == 0", "KWG % (MDIMC * NDIMC / MDIMA) == 0", "KWG % (MDIMC * NDIMC / NDIMB) == 0",
         "!(MWG == 128 && NWG == 128 && MDIMC == 8 && NDIMC == 8)"])
    assert len(gemm) == 5788 and gemm[0]["MWG"] == 16
    dedispersion = tuneonce.SearchSpace(
        {"block_size_x": [1, 2, 4, 8, *range(16, 513, 16)], "block_size_y": range(4, 129, 4), "tile_size_x": range(1, 17),
         "tile_size_y": range(1, 17), "tile_stride_x": [0, 1], "tile_stride_y": [0, 1],
         "loop_unroll_factor_channel": [0, *(i for i in range(1, 1537) if 1536 % i == 0)], "blocks_per_sm": range(5)},
        ["32 <= block_size_x * block_size_y && block_size_x * block_size_y <= 1024", "tile_size_x > 1 or tile_stride_x != 1",
         "tile_size_y > 1 or tile_stride_y != 1"])
    assert len(dedispersion) == 16_851_135


def test_a_space_of_a_billion_points_is_enumerated_in_seconds():
    started = time.process_time()
    space = tuneonce.SearchSpace({f"x{i}": range(1, 11) for i in range(9)}, [f"x{i + 1} % x{i} == 0" for i in range(8)])
    # Chains of divisors: by stars and bars over the exponents of 2, 3, 5 and 7 in x8.
    assert len(space) == 454 and all(config["x8"] % config["x0"] == 0 for config in space)
    assert time.process_time() - started < 2


def test_exhaustive_search_has_cutiles_names():
    space = tuneonce.SearchSpace({"A": [1, 2], "B": [3, 4]}, [lambda c: c["A"] * c["B"] != 8])
    assert list(space) == [{"A": 1, "B": 3}, {"A": 1, "B": 4}, {"A": 2, "B": 3}] and len(space) == 3
    assert tuneonce.Hints.by_target(sm_90=4, default=2) == {"sm_90": 4, "default": 2}
    expect(TypeError, "list(search_space)", lambda: tuneonce.exhaustive_search((c for c in space), None, None, None, None))
    expect(ValueError, "the search space is empty", lambda: tuneonce.exhaustive_search([], None, None, None, None))
    expect(tuneonce.InternalError, "all 1 candidates failed: launch: ", lambda: tuneonce.exhaustive_search(
        [1], None, None, lambda *a: 1 // 0, lambda c: (), device="cpu", quiet=True))
    expect(tuneonce.InternalError, "ZeroDivisionError", lambda: tuneonce.exhaustive_search(
        [1], None, None, lambda *a: 1 // 0, lambda c: (), device="cpu", quiet=True))

    def interrupted(*_):
        raise KeyboardInterrupt

    expect(KeyboardInterrupt, "", lambda: tuneonce.exhaustive_search(
        [1], None, None, interrupted, lambda c: (), device="cpu", quiet=True))
    expect(tuneonce.InternalError, "launched nothing on the stream", lambda: tuneonce.exhaustive_search(
        [1], None, None, lambda *a: None, lambda c: (), device="cpu", quiet=True, timer="events"))
    expect(ValueError, "timer is 'cupti' or 'events', not 'clock'", lambda: tuneonce.exhaustive_search(
        [1], None, None, lambda *a: None, lambda c: (), device="cpu", quiet=True, timer="clock"))
    expect(TypeError, "the kernel is of type NoneType, which cannot be called", lambda: tuneonce.exhaustive_search(
        [1], None, None, None, lambda c: (), device="cpu", quiet=True))
    not_made = "TypeError: kernel(config) returned a value of type NoneType, which cannot be called"
    expect(tuneonce.InternalError, not_made, lambda: tuneonce.exhaustive_search(
        [1], None, None, lambda config: None, lambda c: (c,), device="cpu", quiet=True))
    made = tuneonce.exhaustive_search([1, 2], None, None, lambda config: None if config == 1 else lambda n: n,
                                      lambda c: (c,), device="cpu", quiet=True)
    assert made.best.config == 2 and not_made in made.failures[0].message, made


def matmul_search(kernels, **options):
    """A search over `kernels`, {name: function(a, b, c)}, and the three arrays."""
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal((48, 48), np.float32), rng.standard_normal((48, 48), np.float32)
    c = np.full((48, 48), 7, np.float32)
    result = tuneonce.exhaustive_search(list(kernels), None, None, lambda config: kernels[config], lambda config: (a, b, c),
                                        device="cpu", quiet=True, **options)
    return result, a, b, c


def by_elements(a, b, c):
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            c[i, j] = a[i] @ b[:, j]


def by_blas(a, b, c):
    np.matmul(a, b, out=c)


def test_callables_race_on_the_cpu_device_and_their_declared_outputs_are_verified():
    kernels = {"elements": by_elements, "blas": by_blas}
    result, a, b, c = matmul_search(kernels, baseline="elements", outputs=[2])
    assert result.best.config == "blas" and result.timer == "clock" and not result.failures
    assert result.speedup_over_baseline > 1.02
    assert (c == 7).all(), "trials wrote scratch, not the caller's"
    result, a, b, c = matmul_search(kernels)
    assert result.best.config == "blas" and result.speedup_over_baseline is None
    assert np.allclose(c, a @ b, atol=1e-4), "what is not declared is the caller's own"
    assert any("not compared" in note for note in result.notes)


def test_a_callable_that_computes_something_else_cannot_win():
    def wrong(a, b, c):
        c[:] = a

    def partial(a, b, c):
        np.matmul(a[1:], b, out=c[1:])

    def beside(a, b, c):
        np.matmul(a, b, out=c)
        np.lib.stride_tricks.as_strided(c, (49, 48))[48] = 0

    def failing(a, b, c):
        raise OSError("no library")

    kernels = {"elements": by_elements, "wrong": wrong, "partial": partial, "beside": beside, "failing": failing}
    result, _, _, _ = matmul_search(kernels, baseline="elements", outputs=[2])
    assert result.best.config == "elements"
    reasons = {failure.config: failure.message for failure in result.failures}
    assert list(reasons) == ["wrong", "partial", "beside", "failing"]
    assert "elements differ from the reference" in reasons["wrong"]
    assert "48 of 2304 elements were not written" in reasons["partial"]
    assert "it wrote " in reasons["beside"]
    assert "OSError: no library" in reasons["failing"]


def test_a_search_over_callables_ends_by_budgets_and_by_interrupts():
    kernels = {"elements": by_elements, "blas": by_blas}
    assert matmul_search(kernels, max_rounds=1)[0].best.config == "blas"
    assert matmul_search(kernels, race_budget_ms=0)[0].best.config == "blas"
    cut, _, _, _ = matmul_search(kernels, baseline="elements", outputs=[2], wall_budget_ms=0.001)
    assert cut.best.config == "elements" and [each.config for each in cut.not_measured] == ["blas"] and not cut.is_conclusive
    calls = []

    def interrupts(a, b, c):
        calls.append(1)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    expect(KeyboardInterrupt, "", lambda: matmul_search({"interrupts": interrupts, "blas": by_blas}))
    assert 3 <= len(calls) < 20
    assert matmul_search(kernels)[0].best.config == "blas", "the next one is not interrupted"
    expect(ValueError, "the baseline none is not a config", lambda: matmul_search(kernels, baseline="none"))
    expect(ValueError, "outputs are positions of arguments, and there are 3: [3]", lambda: matmul_search(kernels, outputs=[3]))


def test_a_tuned_kernel_is_a_callable_like_others():
    kernel = tuneonce.TunedKernel(pathlib.Path(sys.argv[1]) / "softmax", "cpu", store="memory")
    x, y = np.random.rand(8, 64).astype(np.float32), np.zeros((8, 64), np.float32)
    result = tuneonce.exhaustive_search([1, 2], None, None, kernel, lambda config: (x, y), device="cpu", quiet=True,
                                        baseline=1, outputs=[1])
    assert len(result.successes) == 2 and kernel.counters()["tunes"] == 1
    assert not y.any(), "trials wrote scratch"
    expect(tuneonce.InternalError, "all 1 candidates failed", lambda: tuneonce.exhaustive_search(
        [1], None, None, kernel, lambda config: (x, y[:, 1:]), device="cpu", quiet=True))


run_tests(globals(), sys.argv[2:])
