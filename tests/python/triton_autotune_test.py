#!/usr/bin/env python3
"""tuneonce.triton.autotune: triton_autotune_test.py [NAME ...]. Needs tuneonce and triton on PYTHONPATH, but no GPU; exits with 77
without triton."""
import gc
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import warnings
import weakref

from running import expect, run_tests

if importlib.util.find_spec("triton") is None:
    print("SKIPPED: there is no triton on PYTHONPATH (scripts/install_dependencies --tests fetches it)")
    sys.exit(77)

import numpy  # noqa: E402

import triton_autotune_kernels as kernels  # noqa: E402
from triton_autotune_kernels import CpuCompiler, array, grid_of  # noqa: E402

from tuneonce.export.declaration_error import DeclarationError  # noqa: E402
from tuneonce.live import grid_term  # noqa: E402
from tuneonce.triton import autotuner, compiler  # noqa: E402
from tuneonce.triton.compile_pool import POOL  # noqa: E402


def normal(n, seed=0):
    return array(numpy.random.default_rng(seed).standard_normal(n))


def test_a_kernel_is_tuned_at_its_first_call_and_launched_at_later_ones():
    kernel = kernels.scale_kernel()
    for n in (1000, 1000, 500):
        x, y = normal(n), array(numpy.zeros(n))
        kernel[grid_of(n)](x, y, 2.0, n)
        assert numpy.array_equal(y, x * 2), n
    assert kernel.best_config in kernel.configs
    assert list(kernel.cache) == [(1000, "float32", "float32"), (500, "float32", "float32")], kernel.cache
    assert all(config in kernel.configs for config in kernel.cache.values())


def test_a_later_process_neither_compiles_nor_measures():
    def run(n, **environment):
        ran = subprocess.run([sys.executable, kernels.__file__, str(n)], env={**os.environ, **environment}, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split(" ", 1)
    store = {"TUNEONCE_STORE": kernels.STORE + ".later"}
    first, second = run(1000, **store), run(1000, **store)
    assert first[0] == "2" and second[0] == "0" and first[1] == second[1], (first, second)
    assert run(1000, DISABLE_AUTOTUNE="1", TUNEONCE_STORE=kernels.STORE + ".disabled")[0] == "1"


def test_each_call_runs_the_code_for_its_own_extents():
    kernel = kernels.scale_kernel(store=kernels.STORE + ".specialized")
    CpuCompiler.requests.clear()
    for n in (1, 16, 17, 512):
        x, y = normal(n), array(numpy.zeros(n))
        kernel[grid_of(n)](x, y, 3.0, n)
        assert numpy.array_equal(y, x * 3), n
    names = list(CpuCompiler.requests[0].signature)
    divisible = {tuple(sorted(names[path[0]] for path, values in request.attributes.items() if values))
                 for request in CpuCompiler.requests}
    assert divisible == {("x", "y"), ("n", "x", "y")}, divisible
    assert {request.constants.get((names.index("n"),)) for request in CpuCompiler.requests} == {None, 1}


def test_arguments_are_given_by_position_by_name_and_by_default():
    @kernels.tuneonce.triton.autotune(kernels.configs(64, 128), key=["n"], device="cpu")
    @kernels.triton.jit
    def defaults(x, y, n, factor=2.0, ADDED: kernels.tl.constexpr = 1, BLOCK: kernels.tl.constexpr = 32):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        kernels.tl.store(y + at, kernels.tl.load(x + at, mask=at < n) * factor + ADDED, mask=at < n)
    kernels.on_cpu(defaults, """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) y[i] = x[i] * factor + ADDED;""")
    x, y = normal(300), array(numpy.zeros(300))
    for call, factor, added in [(lambda k: k(x, y, 300), 2, 1), (lambda k: k(x, n=300, y=y, factor=4.0), 4, 1),
                                (lambda k: k(x, y, 300, ADDED=5), 2, 5), (lambda k: k(x, y, 300, 8.0, 2), 8, 2)]:
        call(defaults[grid_of(300)])
        assert numpy.array_equal(y, x * numpy.float32(factor) + numpy.float32(added)), (factor, added)
    call = defaults[(5,)]
    call(x, y, 300)
    call(x, y, n=300)


def test_heuristics_see_the_config_and_decide_the_code_of_each_call():
    seen = []

    @kernels.tuneonce.triton.autotune(kernels.configs(64, 128), key=[], device="cpu")
    @kernels.triton.heuristics({"EVEN": lambda args: seen.append(args["BLOCK"]) or args["n"] % args["BLOCK"] == 0})
    @kernels.triton.jit
    def even(x, y, n, BLOCK: kernels.tl.constexpr, EVEN: kernels.tl.constexpr):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        if EVEN:
            kernels.tl.store(y + at, kernels.tl.load(x + at))
        else:
            kernels.tl.store(y + at, kernels.tl.load(x + at, mask=at < n), mask=at < n)
    kernels.on_cpu(even, """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && (EVEN || i < n); ++i) y[i] = x[i];""")
    for n in (256, 200, 256):
        x, y = normal(256), array(numpy.zeros(256))
        even[grid_of(n)](x, y, n)
        assert numpy.array_equal(y[:n], x[:n]) and not y[n:].any(), n
    assert set(seen) == {64, 128}


def test_configs_are_pruned_for_each_key():
    asked = []

    def prune(configs, nargs, **kwargs):
        asked.append(nargs["n"])
        return [c for c in configs if c.kwargs["BLOCK"] <= nargs["n"]]
    kernel = kernels.scale_kernel(prune_configs_by={"early_config_prune": prune}, store=kernels.STORE + ".pruned")
    for n in (100, 100, 1000, 100):
        x, y = normal(n), array(numpy.zeros(n))
        kernel[grid_of(n)](x, y, 2.0, n)
        assert numpy.array_equal(y, x * 2)
        assert n != 100 or kernel.best_config.kwargs["BLOCK"] == 64
    assert asked == [100, 1000], asked
    given = []
    kernel = kernels.scale_kernel(prune_configs_by={
        "early_config_prune": lambda configs, nargs, **kwargs: given.append((list(nargs), list(kwargs))) or configs[:1]})
    kernel[grid_of(700)](normal(700), array(numpy.zeros(700)), n=700, factor=2.0)
    assert given == [(["x", "y"], ["factor", "n"])], given
    kernel = kernels.scale_kernel(prune_configs_by={"perf_model": lambda BLOCK, **rest: -BLOCK, "top_k": 1})
    x, y = normal(700), array(numpy.zeros(700))
    kernel[grid_of(700)](x, y, 2.0, 700)
    assert kernel.best_config.kwargs["BLOCK"] == 256


def test_an_incorrect_config_is_not_selected_and_the_callers_data_stay():
    @kernels.tuneonce.triton.autotune(kernels.configs(64, 128, 256), key=["n"], device="cpu")
    @kernels.triton.jit
    def in_place(x, n, BLOCK: kernels.tl.constexpr):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        kernels.tl.store(x + at, kernels.tl.load(x + at, mask=at < n) * 2, mask=at < n)
    kernels.on_cpu(in_place, """
  if (BLOCK > 64 && block.x == 1) return;
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) x[i] = x[i] * 2;""")
    x = normal(1000)
    before = numpy.array(x)
    in_place[grid_of(1000)](x, 1000)
    assert numpy.array_equal(x, before * 2), "once, not once for each trial"
    assert in_place.best_config.kwargs["BLOCK"] == 64


def test_a_config_that_does_not_compile_is_left_out_even_the_first():
    @kernels.tuneonce.triton.autotune(kernels.configs(100, 64), key=["n"], device="cpu")
    @kernels.triton.jit
    def refused(x, y, n, BLOCK: kernels.tl.constexpr):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        kernels.tl.store(y + at, kernels.tl.load(x + at, mask=at < n), mask=at < n)
    kernels.on_cpu(refused, kernels.SCALE.replace("* factor", ""))
    x, y = normal(300), array(numpy.zeros(300))
    refused[grid_of(300)](x, y, 300)
    assert numpy.array_equal(x, y) and refused.best_config.kwargs["BLOCK"] == 64


def test_the_callers_mistakes_are_raised_as_they_are():
    kernel = kernels.scale_kernel()
    x, y = normal(100), array(numpy.zeros(100))
    kernel[grid_of(100)](x, y, 2.0, 100)

    def raising(meta):
        raise KeyError("of the grid")
    for error, part, call in [(KeyError, "of the grid", lambda: kernel[raising](x, y, 2.0, 100)),
                              (TypeError, "tuple", lambda: kernel[5](x, y, 2.0, 100)),
                              (ValueError, "1 to 3", lambda: kernel[(1, 1, 1, 1)](x, y, 2.0, 100)),
                              (ValueError, "out of range", lambda: kernel[(-1,)](x, y, 2.0, 100)),
                              (TypeError, "missing", lambda: kernel[(1,)](x, y, 2.0)),
                              (KeyError, "num_wraps", lambda: kernel[(1,)](x, y, 2.0, 100, num_wraps=4)),
                              (ValueError, "Conflicting", lambda: kernel[(1,)](x, y, 2.0, 100, BLOCK=32))]:
        expect(error, part, call)
    y[:] = 0
    kernel[(0,)](x, y, 2.0, 100)
    assert not y.any(), "an empty grid launches nothing"
    kernel[grid_of(100)](x, y, 2.0, 100)
    assert numpy.array_equal(y, x * 2)


class TritonRuns:
    """Stands in for Triton's own autotuner, which needs a GPU, and counts its calls."""

    def __enter__(self):
        self.calls = 0
        self._original = autotuner.triton_autotuner.Autotuner.run

        def run(kernel, *args, grid, warmup, **kwargs):
            self.calls += 1
        autotuner.triton_autotuner.Autotuner.run = run
        self._caught = warnings.catch_warnings(record=True)
        self.warned = self._caught.__enter__()
        warnings.simplefilter("always")
        return self

    def __exit__(self, *exception):
        autotuner.triton_autotuner.Autotuner.run = self._original
        self._caught.__exit__(*exception)


def test_what_is_not_supported_runs_by_triton_with_one_warning():
    x, y = normal(100), array(numpy.zeros(100))
    with TritonRuns() as triton_runs:
        kernel = kernels.scale_kernel()
        for _ in range(3):
            kernel[(1,)]((x, x), y, 2.0, 100)
        assert triton_runs.calls == 3 and len(triton_runs.warned) == 1, [str(w.message) for w in triton_runs.warned]
        assert "'scale' runs by Triton's own autotuner" in str(triton_runs.warned[0].message)
    with TritonRuns() as triton_runs:
        kernel = kernels.scale_kernel()
        kernel.function.add_pre_run_hook(lambda *args, **kwargs: None)
        kernel[(1,)](x, y, 2.0, 100)
        assert triton_runs.calls == 1 and "add_pre_run_hook" in str(triton_runs.warned[0].message)
    with TritonRuns() as triton_runs:  # No config works: the search fails.
        kernel = kernels.on_cpu(kernels.scale_kernel(store=kernels.STORE + ".broken"), "  this is no C++;")
        for _ in range(2):
            kernel[(1,)](x, y, 2.0, 100)
        assert triton_runs.calls == 2 and len(triton_runs.warned) == 1
    kernels.on_cpu(kernel, kernels.SCALE)


def test_arguments_of_triton_that_have_no_effect_are_noted_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernels.scale_kernel(warmup=10, rep=20, use_cuda_graph=True, do_bench=lambda *_: 0)
    assert len(caught) == 1 and "warmup, rep, use_cuda_graph, do_bench" in str(caught[0].message)


def test_deferred_tuning_is_refused():
    expect(ValueError, "cannot defer tuning", lambda: kernels.scale_kernel(mode="tune_deferred"))


def test_other_versions_of_triton_are_refused_in_one_line():
    version = autotuner.triton.__version__
    try:
        for other in ("3.5.1", "3.10.0"):
            autotuner.triton.__version__ = other
            expect(ImportError, f"it needs Triton 3.6 to 3.9, and {other} is installed", lambda: kernels.scale_kernel())
    finally:
        autotuner.triton.__version__ = version


def test_tensors_are_zeroed_before_a_key_is_tuned():
    @kernels.tuneonce.triton.autotune(kernels.configs(64, 128), key=["n"], reset_to_zero=["total"], device="cpu")
    @kernels.triton.jit
    def added(x, total, n, BLOCK: kernels.tl.constexpr):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        kernels.tl.atomic_add(total + at, kernels.tl.load(x + at, mask=at < n), mask=at < n)
    kernels.on_cpu(added, """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) total[i] += x[i];""")
    x, total = normal(300), array(numpy.full(300, 9))
    added[grid_of(300)](x, total, 300)
    assert numpy.array_equal(total, x)
    added[grid_of(300)](x, total, 300)
    assert numpy.array_equal(total, x + x), "calls of a known key add to what is there, as Triton's do"


def test_hooks_of_configs_and_of_the_tuner_run_on_the_tensors_of_each_launch():
    ran = []

    def zeroed(arguments):
        ran.append(arguments["num_warps"])
        arguments["total"].zero_()

    def before_trials(arguments, reset_only=False):
        ran.append("trial")
        assert arguments["n"] == 300 and arguments["BLOCK"] in (64, 128)

    def summed(hooks, **options):
        configs = [kernels.triton.Config({"BLOCK": block}, num_warps=2, pre_hook=hooks) for block in (64, 128)]

        @kernels.tuneonce.triton.autotune(configs, key=["n"], device="cpu", **options)
        @kernels.triton.jit
        def summed(x, total, n, BLOCK: kernels.tl.constexpr):
            at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
            kernels.tl.atomic_add(total + at, kernels.tl.load(x + at, mask=at < n), mask=at < n)
        return kernels.on_cpu(summed, """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) total[i] += x[i];""")
    x, total = normal(300), array(numpy.full(300, 5))
    kernel = summed(zeroed)
    for _ in range(2):
        kernel[grid_of(300)](x, total, 300)
        assert numpy.array_equal(total, x), "each launch begins with zeros"
    assert set(ran) == {2}
    ran.clear()
    kernel = summed(None, pre_hook=before_trials, store=kernels.STORE + ".hooks")
    total[:] = 0
    kernel[grid_of(300)](x, total, 300)
    assert numpy.array_equal(total, x) and set(ran) == {"trial"}


def test_kernels_run_under_autograd_and_as_custom_ops_of_pytorch():
    if importlib.util.find_spec("torch") is None:
        raise unittest.SkipTest("there is no PyTorch")
    import torch
    forward, backward = kernels.scale_kernel(), kernels.scale_kernel()

    def scaled(kernel, x, factor):
        y = torch.empty_like(x)
        kernel[grid_of(x.numel())](x, y, factor, x.numel())
        return y

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return scaled(forward, x, 2.0)

        @staticmethod
        def backward(context, gradient):
            return scaled(backward, gradient, 2.0)
    x, gradient = torch.randn(1000, requires_grad=True), torch.randn(1000)
    y = Scale.apply(x)
    y.backward(gradient)
    assert torch.equal(y, x * 2) and torch.equal(x.grad, gradient * 2)
    assert list(forward.cache) == list(backward.cache) == [(1000, "torch.float32", "torch.float32")]

    @torch.library.custom_op("tuneonce_test::scaled", mutates_args=())
    def op(x: torch.Tensor, factor: float) -> torch.Tensor:
        return scaled(forward, x, factor)
    op.register_fake(lambda x, factor: torch.empty_like(x))
    compiled = torch.compile(lambda x: op(x, 3.0) + 1, fullgraph=True, backend="eager")
    with torch.no_grad():
        assert torch.equal(compiled(x), x * 3 + 1)
    assert exported(forward)["parameters"][1]["access"] == "out"


def test_threads_call_one_kernel():
    kernel = kernels.scale_kernel(store=kernels.STORE + ".threads")
    failures = []

    def work(index):
        try:
            for n in (600, 700):
                x, y = normal(n, index), array(numpy.zeros(n))
                kernel[grid_of(n)](x, y, float(index), n)
                assert numpy.array_equal(y, x * index), (n, index)
        except BaseException as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures


def job():
    kernel = kernels.scale_kernel()
    x = array(numpy.zeros(64))
    request = kernel.compiler.request({"x": x, "y": x, "factor": 1.0, "n": 64, "BLOCK": 64}, {})
    return kernel.compiler._lowered(request, compiler.driver.active.get_current_target())


def test_an_interrupt_while_configs_compile_ends_the_call_and_a_fork_has_workers_of_its_own():
    def interrupted():
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        time.sleep(0.3)
        return job()

    def raise_interrupt(number, frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    try:
        expect(KeyboardInterrupt, "", lambda: POOL.compile([job, interrupted]))
    finally:
        signal.signal(signal.SIGALRM, before)
    first, failed, second = POOL.compile([job, lambda: 1 // 0, job])
    assert first.cubin == second.cubin and isinstance(failed, ZeroDivisionError)
    child = os.fork()
    if child == 0:
        os._exit(0 if POOL.compile([job, job])[1].cubin == first.cubin else 1)
    assert os.waitpid(child, 0)[1] == 0
    os.kill(POOL._workers[0].process.pid, signal.SIGKILL)
    died = POOL.compile([job, job])
    assert any("process ended" in str(each) for each in died), died
    assert POOL.compile([job])[0].cubin == first.cubin


def test_a_kernel_under_heuristics_fills_its_cache():
    """flash-linear-attention has its heuristics above the tuner, which then calls `run`."""
    outer = kernels.triton.heuristics({"BY": lambda args: args["w"] is not None})

    @outer
    @kernels.tuneonce.triton.autotune(kernels.configs(64, 128), key=["n"], device="cpu")
    @kernels.triton.jit
    def by(x, y, w, n, BLOCK: kernels.tl.constexpr, BY: kernels.tl.constexpr):
        at = kernels.tl.program_id(0) * BLOCK + kernels.tl.arange(0, BLOCK)
        factor = kernels.tl.load(w) if BY else 1.0
        kernels.tl.store(y + at, kernels.tl.load(x + at, mask=at < n) * factor, mask=at < n)
    kernels.on_cpu(by.fn, """
  const long begin = static_cast<long>(block.x) * BLOCK;
  for (long i = begin; i < begin + BLOCK && i < n; ++i) y[i] = x[i] * w[0];""")
    x, y, w = normal(300), array(numpy.zeros(300)), array([3.0])
    for _ in range(2):
        by[grid_of(300)](x, y, w=w, n=300)
        assert numpy.array_equal(y, x * 3)
    assert list(by.fn.cache) == [(300, "float32", "float32", "float32")], by.fn.cache


def test_a_kernel_that_nobody_uses_is_freed():
    kernel = kernels.scale_kernel()
    kernel[grid_of(100)](normal(100), array(numpy.zeros(100)), 2.0, 100)
    left = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert left() is None


def test_ctrl_c_ends_a_search_and_the_next_call_works():
    kernel = kernels.on_cpu(kernels.scale_kernel(store=kernels.STORE + ".search_interrupted"), kernels.SCALE)
    x, y = normal(5000), array(numpy.zeros(5000))

    def grid(meta):
        if not interrupted:
            interrupted.append(True)
            os.kill(os.getpid(), signal.SIGINT)
        return (kernels.triton.cdiv(5000, meta["BLOCK"]),)
    interrupted = []
    expect(KeyboardInterrupt, "", lambda: kernel[grid](x, y, 2.0, 5000))
    kernel[grid](x, y, 2.0, 5000)
    assert numpy.array_equal(y, x * 2)


def test_a_process_that_was_forked_after_use_is_told_so():
    kernel = kernels.scale_kernel()
    x, y = normal(300), array(numpy.zeros(300))
    kernel[grid_of(300)](x, y, 2.0, 300)
    child = os.fork()
    if child == 0:
        try:
            kernel[grid_of(300)](x, y, 3.0, 300)
        except kernels.tuneonce.UnavailableError as error:
            os._exit(0 if "after a fork" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    kernel[grid_of(300)](x, y, 4.0, 300)
    assert numpy.array_equal(y, x * 4)


def test_code_is_that_of_tritons_own_compiler():
    import triton
    kernel = kernels.scale_kernel()
    x = array(numpy.zeros(64))
    request = kernel.compiler.request({"x": x, "y": x, "factor": 1.0, "n": 64, "BLOCK": 64}, {"num_warps": 2})
    ours = kernel.compiler.compile([request])[0]
    source = triton.compiler.ASTSource(kernel.function, request.signature, request.constants, request.attributes)
    target = compiler.driver.active.get_current_target()
    theirs = triton.compile(source, target=target, options={"num_warps": 2})
    code = lambda cubin: set(re.findall(rb"\.text\.\w+|\.nv\.\w+", cubin))  # noqa: E731
    assert ours.metadata["shared"] == theirs.metadata.shared and ours.metadata["name"] == theirs.metadata.name
    assert code(ours.cubin) == code(theirs.asm["cubin"])
    assert [n for n, kind in request.signature.items() if kind != "constexpr"] == ["x", "y", "factor", "n"]


def exported(kernel):
    folder = tempfile.mkdtemp()
    kernel.export(folder)
    with open(os.path.join(folder, "manifest.json")) as file:
        return json.load(file)


def matmul():
    tl = kernels.tl

    @kernels.tuneonce.triton.autotune([kernels.triton.Config({"BLOCK_M": m, "BLOCK_N": n}, num_warps=4) for m, n in ((16, 16), (32, 64))],
                                      key=["M", "N", "K"], device="cpu")
    @kernels.triton.jit
    def multiply(a_ptr, b_ptr, c_ptr, bias, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, scale,
                 BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, SQUARED: tl.constexpr):
        number = tl.program_id(0)
        rows = number // tl.cdiv(N, BLOCK_N) * BLOCK_M + tl.arange(0, BLOCK_M)
        columns = number % tl.cdiv(N, BLOCK_N) * BLOCK_N + tl.arange(0, BLOCK_N)
        total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
        for k in range(0, K):
            a = tl.load(a_ptr + rows * stride_am + k * stride_ak, mask=rows < M, other=0.0)
            b = tl.load(b_ptr + k * stride_bk + columns * stride_bn, mask=columns < N, other=0.0)
            total += a[:, None] * b[None, :]
        if SQUARED:
            total = total * total
        tl.store(c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn, total * scale,
                 mask=(rows[:, None] < M) & (columns[None, :] < N))
    return kernels.on_cpu(multiply, """
  const int tiles = (N + BLOCK_N - 1) / BLOCK_N;
  const int row = block.x / tiles * BLOCK_M, column = block.x % tiles * BLOCK_N;
  for (int m = row; m < row + BLOCK_M && m < M; ++m) {
    for (int n = column; n < column + BLOCK_N && n < N; ++n) {
      float total = 0;
      for (int k = 0; k < K; ++k) total += a_ptr[m * stride_am + k * stride_ak] * b_ptr[k * stride_bk + n * stride_bn];
      c_ptr[m * stride_cm + n * stride_cn] = (SQUARED ? total * total : total) * scale;
    }
  }""")


def call_matmul(kernel, m, n, k):
    a, b, c = normal(m * k).reshape(m, k), normal(k * n, 1).reshape(k, n), array(numpy.zeros((m, n)))
    kernel[lambda meta: (kernels.triton.cdiv(m, meta["BLOCK_M"]) * kernels.triton.cdiv(n, meta["BLOCK_N"]),)](
        a, b, c, None, m, n, k, k, 1, n, 1, n, 1, 0.5, SQUARED=True)
    numpy.testing.assert_allclose(c, numpy.square(a @ b) * 0.5, rtol=1e-3, atol=1e-3)


def test_a_bundle_is_exported_from_live_calls_without_a_declaration():
    kernel = kernels.scale_kernel()
    expect(ValueError, "it was not called", lambda: kernel.export(tempfile.mkdtemp()))
    x, y = normal(1000), array(numpy.zeros(1000))
    kernel[grid_of(1000)](x, y, 2.0, 1000)
    manifest = exported(kernel)
    assert [(p["name"], p["kind"], p.get("access")) for p in manifest["parameters"]] == [
        ("x", "tensor", "in"), ("y", "tensor", "out"), ("factor", "scalar", None), ("n", "scalar", None)], manifest["parameters"]
    assert manifest["variants"][0]["grid"] == {"pattern": "fixed", "blocks": [{"ceil_div": ["n", "BLOCK"]}]}
    assert manifest["key"] == [{"value_of": "n"}] and manifest["example"]["scalars"]["n"] == 1000
    kernel = matmul()
    call_matmul(kernel, 48, 48, 32)
    call_matmul(kernel, 40, 70, 24)
    manifest = exported(kernel)
    strides = {p["name"]: (p["tensor"], p["dimension"]) for p in manifest["parameters"] if p["kind"] == "stride"}
    assert strides == {"stride_am": ("a_ptr", 0), "stride_ak": ("a_ptr", 1), "stride_bk": ("b_ptr", 0), "stride_bn": ("b_ptr", 1),
                       "stride_cm": ("c_ptr", 0), "stride_cn": ("c_ptr", 1)}, strides
    assert manifest["variants"][0]["grid"]["blocks"] == [{"product": [{"ceil_div": ["M", "BLOCK_M"]}, {"ceil_div": ["N", "BLOCK_N"]}]}], manifest["variants"][0]["grid"]
    assert [p["name"] for p in manifest["parameters"]][3:6] == ["M", "N", "K"], "bias is None, SQUARED a constant"


def test_what_calls_do_not_tell_is_not_exported():
    kernel = kernels.scale_kernel()
    x, y = normal(1000), array(numpy.zeros(1000))
    kernel[lambda meta: (kernels.triton.cdiv(1000, meta["BLOCK"]) + 1,)](x, y, 2.0, 1000)
    expect(ValueError, "write a declaration", lambda: kernel.export(tempfile.mkdtemp()))
    terms = grid_term.GridTerms({"rows": [64], "columns": [64]}, {"TILE": [16]}, 2)
    expect(DeclarationError, "may be", lambda: terms.find([4], "extent 0 of the grid"))
    terms = grid_term.GridTerms({"rows": [64, 64], "columns": [64, 32]}, {"TILE": [16, 32]}, 2)
    assert terms.find([4, 2], "extent 0 of the grid") == {"ceil_div": ["rows", "TILE"]}
    assert terms.find([1, 1], "extent 1 of the grid") == 1


if __name__ == "__main__":
    run_tests(globals(), sys.argv[1:])
