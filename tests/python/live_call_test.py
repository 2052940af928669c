#!/usr/bin/env python3
"""Calls of decorated kernels whose key is tuned: live_call_test.py [NAME ...]. They launch as on a GPU, through the CPU
device's driver by another name. Needs tuneonce and numpy on PYTHONPATH, and compilers of C and C++, but no GPU,
PyTorch, Triton or cuTile."""
import contextlib
import ctypes
import faulthandler
import sys
import threading
import time

import numpy

from live_call_kernels import (BLOCKS, FunctionKernel, GridKernel, ValueKernel, array, driver, forget_launches,
                               launch_of, launches)
from running import expect, run_tests

EVEN, ODD = 1000, 1001  # Extents for which different configs are selected.
MOST_ENTRIES = 65536  # Of a kernel (live_caller.cc).


def selected(n):
    """The config that is fast for n."""
    return 1 - n % 2


def grid(meta):
    return (-(-meta["n"] // meta["BLOCK"]),)


def bound(kernel):
    return kernel[grid] if isinstance(kernel, GridKernel) else kernel


def tuned(kernel, x, y, *extents):
    """Tunes the keys of the extents."""
    for n in extents:
        bound(kernel)(x, y, 2.0, n)
    assert kernel.tuned == [selected(n) for n in extents], kernel.tuned
    forget_launches()
    return kernel


@contextlib.contextmanager
def only_hits(kernel):
    """Checks that nothing is tuned, compiled or asked of the owner meanwhile."""
    before = kernel.counts()
    yield
    assert kernel.counts() == before, (before, kernel.counts())


def check_launch(call, x, y, factor, n, step=0):
    """The call must launch the selected config with these arguments, once."""
    expected = y.values()
    expected[:n] += x.values()[:n] * numpy.float32(factor)
    assert call() is None
    assert launches() == [launch_of(selected(n), x, y, factor, n, step)]
    assert numpy.array_equal(y.values(), expected)


def test_a_hit_launches_the_selected_config_with_the_arguments_of_its_call():
    a, b, c = array(ODD), array(ODD, 1), array(ODD, 2)
    for kernel in (GridKernel(), FunctionKernel()):
        tuned(kernel, a, b, EVEN, ODD)
        with only_hits(kernel):
            for x, y, factor, n in [(a, b, 2.0, EVEN), (a, b, -3.0, EVEN), (a, c, -3.0, ODD), (b, a, 0.5, ODD),
                                    (c, c, 0.5, EVEN)]:
                check_launch(lambda: bound(kernel)(x, y, factor, n), x, y, factor, n)


def test_an_argument_of_the_key_that_has_another_value_is_tuned():
    x, y = array(2000), array(2000, 1)
    kernel = tuned(GridKernel(), x, y, EVEN)
    for n in (1200, 1300, 1301, 1200):
        expected = y.values()
        expected[:n] += x.values()[:n] * 2
        kernel[grid](x, y, 2.0, n)
        assert numpy.array_equal(y.values(), expected), "once, and not by each trial"
    assert kernel.tuned == [selected(n) for n in (EVEN, 1200, 1300, 1301)], kernel.tuned
    assert len(kernel.described) == 1
    forget_launches()


def test_code_is_that_of_the_calls_alignment_and_numbers():
    x, y, odd_x, odd_y = array(EVEN), array(EVEN, 1), array(EVEN, 2, offset=1), array(EVEN, 3, offset=3)
    kernel = tuned(GridKernel(), x, y, EVEN)
    calls = [(source, target, step) for source in (x, odd_x) for target in (y, odd_y) for step in (16, 0, 1, 3, -32)]
    for source, target, step in calls:
        check_launch(lambda: kernel[grid](source, target, 2.0, EVEN, step), source, target, 2.0, EVEN, step)
    selected_code = [form for config, form in kernel.codes if config == selected(EVEN)]
    assert len(selected_code) == len(set(selected_code)) == 4 * 3, "once for each of what code depends on"
    assert len(kernel.tuned) == 1
    with only_hits(kernel):
        for source, target, step in reversed(calls):
            check_launch(lambda: kernel[grid](source, target, 2.0, EVEN, step), source, target, 2.0, EVEN, step)


def test_arguments_are_passed_by_position_by_name_and_by_default():
    x, y = array(EVEN), array(EVEN, 1)
    kernel = tuned(GridKernel(), x, y, EVEN)
    not_interned = {"".join(["fac", "tor"]): 4.0}
    with only_hits(kernel):
        check_launch(lambda: kernel[grid](x, y, n=EVEN), x, y, 2.0, EVEN)
        check_launch(lambda: kernel[grid](n=EVEN, y=y, factor=3.0, x=x), x, y, 3.0, EVEN)
        check_launch(lambda: kernel[grid](x, y, n=EVEN, step=32, **not_interned), x, y, 4.0, EVEN, 32)


def test_arguments_of_another_type_have_an_entry_of_their_own():
    x, y = array(EVEN), array(EVEN, 1)
    kernel = tuned(GridKernel(), x, y, EVEN)
    # The kernel reads the lower 32 bits of `step`.
    for described, factor, step, read in [(2, 3, 0, 0), (3, 2.0, 2**32 + 16, 16), (4, 2.0, 2**63 + 32, 32),
                                          (4, 5.0, 2**63 + 48, 48)]:
        kernel[grid](x, y, factor, EVEN, step)
        forget_launches()
        with only_hits(kernel):
            kernel[grid](x, y, factor, EVEN, step)
        assert launches() == [launch_of(selected(EVEN), x, y, factor, EVEN, read)]
        assert len(kernel.described) == described
    kernel[grid](x, y, 2.0, EVEN, num_warps=4)
    assert kernel.described[-1] == {"num_warps": 4}


def test_a_grid_is_a_tuple_or_a_function_of_the_arguments_by_name():
    x, y = array(EVEN), array(EVEN, 1)
    kernel = tuned(GridKernel(), x, y, EVEN)
    seen = []

    def watched(meta):
        seen.append(dict(meta))
        blocks = grid(meta)
        meta.clear()
        return blocks
    with only_hits(kernel):
        for factor in (3.0, 4.0):
            check_launch(lambda: kernel[watched](x, y, factor, n=EVEN), x, y, factor, EVEN)
        blocks = -(-EVEN // BLOCKS[selected(EVEN)])
        for given in ((blocks,), [blocks], (blocks, 1, 1)):
            check_launch(lambda: kernel[given](x, y, 2.0, EVEN), x, y, 2.0, EVEN)
        kernel[(0,)](x, y, 2.0, EVEN)
        assert launches() == [], "an empty grid launches nothing"
    assert seen == [{"x": x, "y": y, "factor": factor, "n": EVEN, "step": 0, "BLOCK": BLOCKS[selected(EVEN)]}
                    for factor in (3.0, 4.0)], seen


def test_a_mistake_is_raised_as_it_is_and_launches_nothing():
    x, y = array(EVEN), array(EVEN, 1)
    kernel = tuned(GridKernel(), x, y, EVEN)

    def raising(meta):
        raise KeyError("of the grid")
    with only_hits(kernel):
        for error, part, wrong in [(KeyError, "of the grid", raising), (TypeError, "tuple of up to three", 5),
                                   (TypeError, "tuple of up to three", lambda meta: None), (ValueError, "1 to 3", ()),
                                   (ValueError, "1 to 3", (1, 1, 1, 1)), (ValueError, "out of range", (-1,)),
                                   (ValueError, "out of range", (2**31,)), (TypeError, "", ("1",))]:
            expect(error, part, lambda: kernel[wrong](x, y, 2.0, EVEN))
            assert launches() == []
        check_launch(lambda: kernel[grid](x, y, 2.0, EVEN), x, y, 2.0, EVEN)
    expect(TypeError, "missing an argument", lambda: kernel[grid](x, y, 2.0))
    for arguments, keywords in [((x, y, 2.0, EVEN, 0, 64, 1), {}), ((x, y, 2.0, EVEN), {"n": EVEN}),
                                (("x", y, 2.0, EVEN), {}), ((x, [y], 2.0), {"n": EVEN}), ((x, y, 2.0, 2**64), {})]:
        expect(TypeError, "raised by the owner", lambda: kernel[grid](*arguments, **keywords))
        assert kernel.otherwise.pop() == (grid, arguments, keywords)
    assert launches() == []
    with only_hits(kernel):
        check_launch(lambda: kernel[grid](x, y, 2.0, EVEN), x, y, 2.0, EVEN)


def test_a_grid_function_may_call_kernels():
    x, y, inner_y = array(EVEN), array(EVEN, 1), array(ODD, 2)
    kernel, inner = tuned(GridKernel(), x, y, EVEN), tuned(GridKernel(), array(ODD), inner_y, ODD)
    inner_x = array(2 * EVEN, 3)

    def calling(n):
        def function(meta):
            inner[grid](inner_x, inner_y, 5.0, n)
            return grid(meta)
        return function
    expected = inner_y.values() + inner_x.values()[:ODD] * 5
    with only_hits(kernel), only_hits(inner):
        kernel[calling(ODD)](x, y, 3.0, EVEN)
        assert launches() == [launch_of(selected(ODD), inner_x, inner_y, 5.0, ODD),
                              launch_of(selected(EVEN), x, y, 3.0, EVEN)]
    assert numpy.array_equal(inner_y.values(), expected)
    # The inner call's key is tuned while the outer call waits for its grid.
    expected, inner_expected = y.values() + x.values() * 3, inner_y.values()
    inner_expected[:EVEN] += inner_x.values()[:EVEN] * 5
    with only_hits(kernel):
        kernel[calling(EVEN)](x, y, 3.0, EVEN)
    assert inner.tuned == [selected(ODD), selected(EVEN)]
    assert numpy.array_equal(y.values(), expected) and numpy.array_equal(inner_y.values(), inner_expected)
    forget_launches()
    # The outer call is the same kernel's.
    expected = y.values() + x.values() * 7
    kernel[lambda meta: kernel[grid](x, y, 4.0, EVEN) or grid(meta)](x, y, 3.0, EVEN)
    assert launches() == [launch_of(selected(EVEN), x, y, factor, EVEN) for factor in (4.0, 3.0)]
    assert numpy.array_equal(y.values(), expected)


def test_entries_that_are_dropped_stay_for_the_calls_that_run():
    x, y = array(EVEN), array(EVEN, 1)
    kernel = tuned(ValueKernel(), x, y, EVEN)
    made = []

    def dropping(meta):
        kernel.is_supported = False  # An entry is made fast that way.
        for i in range(2 * MOST_ENTRIES - 100):
            kernel[grid](x, y, float(i + 3), EVEN)
        made.append(len(kernel.otherwise))
        kernel.is_supported = True
        return grid(meta)
    check_launch(lambda: kernel[dropping](x, y, 2.0, EVEN), x, y, 2.0, EVEN)
    assert made == [2 * MOST_ENTRIES - 100]
    kernel[grid](x, y, 2.0, EVEN)
    assert len(kernel.described) == 2 + made[0], "the entry is made again"
    forget_launches()
    with only_hits(kernel):
        check_launch(lambda: kernel[grid](x, y, 2.0, EVEN), x, y, 2.0, EVEN)


def test_calls_of_several_threads_may_overlap():
    x, results = array(2 * EVEN), [array(2 * EVEN, seed) for seed in (1, 2)]
    kernel = tuned(GridKernel(), x, results[0], EVEN)
    expected = [y.values() for y in results]
    steps = [threading.Event() for _ in range(4)]
    errors = []

    def waiting(reached, awaited):
        def function(meta):
            steps[reached].set()
            assert steps[awaited].wait(60)
            return grid(meta)
        return function

    def work(index, grids_and_extents, ended):
        try:
            for each, n in grids_and_extents:
                kernel[each](x, results[index], 3.0, n)
                if each is not grid:
                    steps[ended].set()
                    assert steps[3].wait(60)
        except BaseException as error:
            errors.append(error)
    # The first call begins, the second begins, the first ends, the second ends. Then both threads tune a key by a call
    # at the same place.
    threads = [threading.Thread(target=work, args=(0, [(waiting(0, 1), EVEN), (grid, 1200)], 2)),
               threading.Thread(target=work, args=(1, [(waiting(1, 2), EVEN), (grid, 1300)], 3))]
    threads[0].start()
    assert steps[0].wait(60)
    num_tuned = len(kernel.tuned)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    assert len(kernel.tuned) == num_tuned + 2
    for index, n in enumerate((1200, 1300)):
        expected[index][:EVEN] += x.values()[:EVEN] * 3
        expected[index][:n] += x.values()[:n] * 3
        assert numpy.array_equal(results[index].values(), expected[index]), index
    forget_launches()


def test_many_threads_call_at_once():
    kernel = tuned(GridKernel(), array(ODD), array(ODD), EVEN, ODD)
    arrays = [(array(ODD, seed), array(ODD, seed + 10)) for seed in range(4)]
    expected = [y.values() for _, y in arrays]

    def yielding(meta):
        time.sleep(0)
        return grid(meta)

    def work(index):
        x, y = arrays[index]
        for i in range(100):
            kernel[yielding if i % 3 else grid](x, y, float(index + 1), EVEN if i % 2 else ODD)
    with only_hits(kernel):
        threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for index, (x, y) in enumerate(arrays):
        for n in (EVEN, ODD):
            expected[index][:n] += x.values()[:n] * 50 * (index + 1)
        assert numpy.array_equal(y.values(), expected[index]), index
    forget_launches()


def captured(stream, call):
    """Returns an executable graph of what the call launches in the stream."""
    graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
    driver("cuStreamBeginCapture", 10010, stream, 0)
    call()
    driver("cuStreamEndCapture", 10000, stream, ctypes.byref(graph))
    driver("cuGraphInstantiateWithFlags", 11040, ctypes.byref(executable), graph, ctypes.c_ulonglong(0))
    return executable


def test_a_hit_is_launched_in_the_stream_of_its_arrays_or_of_its_call():
    stream = ctypes.c_void_p()
    driver("cuStreamCreate", 2000, ctypes.byref(stream), 0)
    x, y = array(EVEN), array(EVEN, 1)
    kernel, function = tuned(GridKernel(), x, y, EVEN), tuned(FunctionKernel(), x, y, EVEN)
    x_of_stream = array(EVEN, stream=stream.value)
    for of_kernel, source, call in [(kernel, x_of_stream, lambda: kernel[grid](x_of_stream, y, 3.0, EVEN)),
                                    (function, x, lambda: function(x, y, 3.0, EVEN, stream=stream.value))]:
        with only_hits(of_kernel):
            graph = captured(stream, call)
            assert launches() == []
            check_launch(lambda: driver("cuGraphLaunch", 10000, graph, stream), source, y, 3.0, EVEN)
    with only_hits(function):
        check_launch(lambda: function(x, y, 3.0, EVEN, stream=None), x, y, 3.0, EVEN)
    assert function.described == [{}], "a stream is no option"


def test_a_function_has_an_entry_for_extents_and_for_values_of_ints():
    x, y, longer = array(EVEN), array(EVEN, 1), array(2 * EVEN, 2)
    kernel = tuned(FunctionKernel(), x, y, EVEN)
    for described, source, n, step in [(1, x, EVEN, 0), (2, longer, EVEN, 0), (3, x, EVEN, 16), (4, x, 998, 0)]:
        kernel(source, y, 3.0, n, step)
        forget_launches()
        assert len(kernel.described) == described
        with only_hits(kernel):
            check_launch(lambda: kernel(source, y, 4.0, n, step), source, y, 4.0, n, step)


if __name__ == "__main__":
    faulthandler.enable()  # A defect of the extension may end the process.
    run_tests(globals(), sys.argv[1:])
