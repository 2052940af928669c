#!/usr/bin/env python3
"""The Python package on a GPU with PyTorch: python_gpu_test.py BUNDLES_FOLDER [NAME ...]. Needs tuneonce, torch,
triton, PyPI's cuda-tile, tileiras."""
import gc
import json
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import threading

import torch

import tuneonce
import tuneonce.torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))
import torch_ops  # noqa: E402
from running import expect, run_tests  # noqa: E402

folder = pathlib.Path(sys.argv[1])
HALF = torch.float16


def kernel_of(name, **options):
    return tuneonce.TunedKernel(folder / name, store="memory", **options)


def reference_rms_norm(x, w, eps):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps) * w.float()).half()


def rms_norm_arguments(m=256, n=1024):
    return torch.randn(m, n, dtype=HALF, device="cuda"), torch.randn(n, dtype=HALF, device="cuda")


def test_a_table_of_pointers_is_tuned_and_captured_and_nothing_else_is_written():
    rows = torch.tensor([200, 0, 1, 77], dtype=torch.int32, device="cuda")
    x = [torch.randn(256, 136, dtype=HALF, device="cuda") for _ in range(4)]
    w = [torch.randn(136, 264, dtype=HALF, device="cuda") for _ in range(4)]
    y = [torch.full((256, 264), 7, dtype=HALF, device="cuda") for _ in range(4)]
    tables = [tuneonce.PointerTable.of(each) for each in (x, w, y)]
    kernel = kernel_of("grouped_gemm_pointers")

    def check():
        for group, count in enumerate(rows.tolist()):
            torch.testing.assert_close(y[group][:count], (x[group][:count].float() @ w[group].float()).half(), rtol=1e-2, atol=2e-2)
            assert (y[group][count:] == 7).all()

    kernel(tables[0], tables[1], rows, tables[2])
    check()
    assert kernel.counters()["tunes"] == 1 and kernel.is_ready(tables[0], tables[1], rows, tables[2])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel(tables[0], tables[1], rows, tables[2])
    for each in y:
        each.fill_(7)
    graph.replay()
    check()
    swapped = tuneonce.PointerTable(tables[0].table, [x[1], x[0], x[2], x[3]])
    expect(ValueError, "parameter 'x': entry 0 of the table is 0x",
           lambda: kernel_of("grouped_gemm_pointers")(swapped, tables[1], rows, tables[2]))
    expect(TypeError, "the table of addresses must be a dense int64 tensor of 4 elements",
           lambda: kernel(tuneonce.PointerTable(tables[0].table[:2], x), tables[1], rows, tables[2]))


def test_every_bundle_computes_what_torch_computes():
    x, w = rms_norm_arguments(300, 1000)
    y = torch.empty_like(x)
    kernel_of("rms_norm")(x, w, y, 1e-5)
    torch.testing.assert_close(y, reference_rms_norm(x, w, 1e-5), rtol=2e-3, atol=2e-3)
    f = torch.randn(300, 1000, device="cuda")
    g = torch.empty_like(f)
    kernel_of("softmax")(f, g)
    torch.testing.assert_close(g, torch.softmax(f, 1))
    both, out = torch.randn(300, 2000, dtype=HALF, device="cuda"), torch.empty(300, 1000, dtype=HALF, device="cuda")
    kernel_of("silu_and_mul")(both, out)
    torch.testing.assert_close(out, (torch.nn.functional.silu(both[:, :1000].float()) * both[:, 1000:].float()).half(),
                               rtol=2e-3, atol=2e-3)
    q, angles = torch.randn(64, 20, 128, dtype=HALF, device="cuda"), torch.randn(64, 64, device="cuda")
    cos, sin = angles.cos(), angles.sin()
    low, high = q[..., :64].float(), q[..., 64:].float()
    expected = torch.cat([low * cos[:, None] - high * sin[:, None], high * cos[:, None] + low * sin[:, None]], -1).half()
    kernel_of("rope")(q, cos, sin)
    torch.testing.assert_close(q, expected, rtol=2e-3, atol=2e-3)
    a, b = torch.randn(200, 136, dtype=HALF, device="cuda"), torch.randn(136, 264, dtype=HALF, device="cuda")
    for name in ("matmul", "persistent_matmul"):
        c = torch.empty(200, 264, dtype=HALF, device="cuda")
        kernel_of(name)(a, b, c)
        torch.testing.assert_close(c, a @ b, rtol=5e-3, atol=5e-2)


def test_what_does_not_suit_is_said():
    kernel = kernel_of("rms_norm")
    x, w = rms_norm_arguments()
    y = torch.empty_like(x)
    kernel(x, w, y, 1e-5)
    expect(tuneonce.InvalidArgumentError, "'x' and 'y' overlap", lambda: kernel(x, w, x, 1e-5))
    expect(tuneonce.InvalidArgumentError, "dimension 1 of 'x' has stride 256", lambda: kernel(
        torch.randn(1024, 256, dtype=HALF, device="cuda").t(), w, y, 1e-5))
    bytes_ = torch.zeros(256 * 1024 * 2 + 2, dtype=torch.uint8, device="cuda")
    expect(tuneonce.InvalidArgumentError, "expected a float32 tensor, the dtype of 'x'", lambda: kernel(x.float(), w, y, 1e-5))
    expect(tuneonce.InvalidArgumentError, "its code is for the dtypes float16, bfloat16", lambda: kernel(
        x.float(), w.float(), y.float(), 1e-5))
    expect(TypeError, "host memory", lambda: kernel(x.cpu(), w, y, 1e-5))
    expect(TypeError, "takes 4 arguments, got 3", lambda: kernel(x, w, y))
    expect(Exception, "", lambda: kernel(torch.zeros(4, 4, dtype=torch.complex64, device="cuda"), w, y, 1e-5))
    z = torch.randn(256, 1024, dtype=torch.complex32 if hasattr(torch, "complex32") else torch.complex64, device="cuda")
    expect(Exception, "", lambda: kernel(z.conj().imag, w, y, 1e-5))  # A lazy negative view.
    assert kernel.counters()["tunes"] == 1
    x = bytes_[2:].view(HALF).view(256, 1024)  # Aligned to 2 bytes: not for Tile IR.
    x.copy_(torch.randn_like(x))
    kernel(x, w, y, 1e-5)
    torch.testing.assert_close(y, reference_rms_norm(x, w, 1e-5), rtol=2e-3, atol=2e-3)
    # If Tile IR won for x's key, this is a key of its own, tuned without it; if CUDA C++ won, that suits both.
    assert kernel.counters()["tunes"] in (1, 2) and kernel.counters()["fallbacks"] == 0, kernel.counters()


def test_what_makes_its_descriptors_on_the_gpu_runs_from_a_graph():
    """Each in a process of its own, so that one that crashes is named, and where."""
    script = str(pathlib.Path(__file__).parent / "graph_replay.py")
    failed = []
    for name in ("decode_attention", "grouped_gemm", "varlen_attention", "paged_attention"):
        ended = subprocess.run([sys.executable, "-X", "faulthandler", script, str(folder), name], capture_output=True, text=True)
        if ended.returncode != 0:
            failed.append(f"{name} ended with {ended.returncode}:\n{ended.stdout[-2000:]}{ended.stderr[-4000:]}")
    assert not failed, "\n".join(failed)


def test_the_current_stream_is_used():
    kernel = kernel_of("rms_norm")
    x, w = rms_norm_arguments()
    y = torch.empty_like(x)
    kernel(x, w, y, 1e-5)
    stream = torch.cuda.Stream()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.stream(stream):
        y.zero_()
        kernel(x, w, y, 1e-5)
    stream.synchronize()
    torch.testing.assert_close(y, reference_rms_norm(x, w, 1e-5), rtol=2e-3, atol=2e-3)
    with torch.cuda.graph(graph):
        kernel(x, w, y, 1e-5)
    y.zero_()
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(y, reference_rms_norm(x, w, 1e-5), rtol=2e-3, atol=2e-3)
    other = torch.cuda.CUDAGraph()
    x2, y2 = x[:128].contiguous(), y[:128].contiguous()
    with torch.cuda.graph(other):
        expect(tuneonce.FailedPreconditionError, "capturing", lambda: kernel(x2, w, y2, 1e-5))
    assert kernel.counters()["tunes"] == 1


def test_a_custom_op_works_eager_compiled_captured_and_differentiated():
    op = tuneonce.torch.custom_op("tuneonce_test::rms_norm", folder / "rms_norm", store="memory")
    x, w = rms_norm_arguments()
    expected = reference_rms_norm(x, w, 1e-5)
    torch.testing.assert_close(op(x, w, 1e-5), expected, rtol=2e-3, atol=2e-3)

    def block(x, w):
        return op(x * 2, w, 1e-5) + 1

    compiled = torch.compile(block, fullgraph=True)
    torch.testing.assert_close(compiled(x, w), reference_rms_norm(x * 2, w, 1e-5) + 1, rtol=4e-3, atol=4e-3)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = op(x, w, 1e-5)
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(y, expected, rtol=2e-3, atol=2e-3)
    assert op.kernel.counters()["tunes"] == 1
    torch.library.opcheck(op._op._opoverload, (x, w, 1e-5))

    rope = tuneonce.torch.custom_op("tuneonce_test::rope", folder / "rope", store="memory")
    q, angles = torch.randn(64, 20, 128, dtype=HALF, device="cuda"), torch.randn(64, 64, device="cuda")
    before = q.clone()
    rotated = rope(q, angles.cos(), angles.sin())
    assert torch.equal(q, before) and not torch.equal(rotated, before)
    # Rotating back is the gradient of rotating.
    back = tuneonce.torch.custom_op("tuneonce_test::rope_back", folder / "rope", store="memory", selection_group="rope")
    rope.register_autograd(lambda ctx, g: (back(g.contiguous(), ctx.saved_tensors[0], -ctx.saved_tensors[1]), None, None),
                           setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[1], inputs[2]))
    leaf = before.clone().requires_grad_()
    rope(leaf, angles.cos(), angles.sin()).sum().backward()
    reference = before.float().requires_grad_()
    low, high = reference[..., :64], reference[..., 64:]
    c, s = angles.cos()[:, None], angles.sin()[:, None]
    torch.cat([low * c - high * s, high * c + low * s], -1).sum().backward()
    torch.testing.assert_close(leaf.grad.float(), reference.grad, rtol=5e-3, atol=5e-3)
    rope.inplace(q, angles.cos(), angles.sin())
    assert torch.equal(q, rotated)


def test_every_bundle_is_an_op_eager_compiled_and_captured():
    torch_ops.check_eager("cuda")
    torch_ops.check_compiled("cuda")
    torch_ops.check_captured()


def test_bfloat16_is_tuned_beside_halves():
    torch_ops.check_bfloat16("cuda")


def test_pages_hold_anything_behind_the_keys():
    torch_ops.check_pages("cuda")


def test_every_op_runs_in_the_graphs_that_torch_compile_makes():
    torch_ops.check_compiled("cuda", mode="reduce-overhead")


def test_a_backward_is_tuned_for_keys_of_its_own():
    torch_ops.check_autograd_with_keys_of_its_own("cuda")


def test_an_observer_is_told_of_a_tune_on_a_gpu():
    class Told(tuneonce.Observer):
        def on_tuned(self, kernel, key, result):
            self.result = result

    told = Told()
    kernel = kernel_of("rms_norm", observer=told, race_budget_ms=5000)
    x, w = rms_norm_arguments()
    kernel(x, w, torch.empty_like(x), 1e-5)
    result = told.result
    assert result.timer == "cupti" and result.baseline is not None and result.speedup_over_baseline >= 1, result
    assert kernel.explain(x, w, torch.empty_like(x), 1e-5).config == result.best.config
    print(result)


def test_threads_and_counts():
    kernel = kernel_of("softmax")
    f = torch.randn(64, 512, device="cuda")
    errors = []

    def work():
        try:
            g = torch.empty_like(f)
            for _ in range(2000):
                kernel(f, g)
            torch.cuda.synchronize()
            torch.testing.assert_close(g, torch.softmax(f, 1))
        except Exception as e:  # noqa: BLE001
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    counters = kernel.counters()
    assert counters["tunes"] == 1 and counters["hits"] + counters["waits"] >= 15999 - 8, counters


class CudaArray:
    """A tensor with no other protocol than __cuda_array_interface__."""

    def __init__(self, tensor, stream=None, read_only=False):
        self.tensor = tensor
        self.__cuda_array_interface__ = {"shape": tuple(tensor.shape), "typestr": "<f4", "strides": None, "version": 3,
                                         "data": (tensor.data_ptr(), read_only), "stream": stream}


def test_a_cuda_array_is_read_behind_its_stream():
    kernel = kernel_of("vector_add")
    x, y, z = (torch.zeros(1 << 20, device="cuda") for _ in range(3))
    kernel(CudaArray(x), CudaArray(y), CudaArray(z))
    producer = torch.cuda.Stream()  # Non-blocking: the legacy stream does not wait for it.
    for given in ({}, {"stream": torch.cuda.Stream()}, {"stream": producer}, {"stream": 1}, {"stream": 2}):
        for tensor in (x, y, z):
            tensor.zero_()
        torch.cuda.synchronize()
        with torch.cuda.stream(producer):
            torch.cuda._sleep(200_000_000)  # Some 0.1 s.
            x.fill_(2)
            y.fill_(2)
        kernel(*(CudaArray(each, producer.cuda_stream) for each in (x, y)), CudaArray(z), **given)
        if not given:
            producer.synchronize()  # Without a stream of the call's own it launches on theirs.
        else:
            torch.cuda.synchronize()
        assert (z == 4).all(), (given, z)
    for stream in (1, 2):
        kernel(CudaArray(x, stream), CudaArray(y, stream), CudaArray(z, stream))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        x.add_(1)
        expect(tuneonce.FailedPreconditionError, "another stream than the capturing one", lambda: kernel(
            CudaArray(x, producer.cuda_stream), CudaArray(y), CudaArray(z), stream=torch.cuda.current_stream()))
        kernel(*(CudaArray(each, torch.cuda.current_stream().cuda_stream) for each in (x, y, z)))
    graph.replay()
    torch.cuda.synchronize()
    assert (z == 5).all()


def test_a_cuda_array_that_is_read_only_is_an_input_and_no_output():
    kernel = kernel_of("vector_add")
    x, y, z = torch.ones(1000, device="cuda"), torch.ones(1000, device="cuda"), torch.zeros(1000, device="cuda")
    torch.cuda.synchronize()
    kernel(CudaArray(x, read_only=True), CudaArray(y, read_only=True), CudaArray(z))
    torch.cuda.synchronize()
    assert (z == 2).all()
    z.zero_()
    torch.cuda.synchronize()
    expect(TypeError, "parameter 'z': the array is read-only", lambda: kernel(CudaArray(x), CudaArray(y), CudaArray(z, read_only=True)))
    masked = CudaArray(x)
    masked.__cuda_array_interface__["mask"] = CudaArray(y)
    expect(TypeError, "parameter 'x': __cuda_array_interface__ has a mask", lambda: kernel(masked, CudaArray(y), CudaArray(z)))
    expect(TypeError, "parameter 'x': the stream of __cuda_array_interface__ is 0",
           lambda: kernel(CudaArray(x, stream=0), CudaArray(y), CudaArray(z)))
    expect(TypeError, "parameter 'x': the tensor is in host memory, the kernel runs on a CUDA device",
           lambda: kernel(x.cpu(), CudaArray(y), CudaArray(z)))
    torch.cuda.synchronize()
    assert not z.any()


def test_a_million_launches_leak_nothing():
    kernel = kernel_of("softmax")
    f = torch.randn(1, 64, device="cuda")
    g = torch.empty_like(f)

    def launch(times):
        for _ in range(times):
            kernel(f, g)
        torch.cuda.synchronize()
        gc.collect()
        return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()

    before = launch(100_000)
    grown = launch(1_000_000) - before
    assert grown < 4 << 20, f"{grown} bytes for 10^6 calls"
    assert kernel.counters()["hits"] >= 1_099_999 and torch.cuda.memory_allocated() < 1 << 30


def test_exhaustive_search_over_cutile_kernels():
    sys.path.insert(0, str(folder / "softmax"))
    from softmax import softmax
    f = torch.randn(2048, 1000, device="cuda")
    g = torch.empty_like(f)
    space = tuneonce.SearchSpace({"TILE_N": [1000, 1024, 4096], "occupancy": [1, 4]})
    result = tuneonce.exhaustive_search(
        space, torch.cuda.current_stream(), lambda c: (f.shape[0], 1, 1), softmax, lambda c: (f, g, c["TILE_N"], 0, 1),
        lambda c: {"occupancy": tuneonce.Hints.by_target(sm_90=c["occupancy"], default=1)}, quiet=True)
    torch.testing.assert_close(g, torch.softmax(f, 1))
    assert [c.config["TILE_N"] for c in result.failures] == [1000, 1000], "a tile that is no power of two"
    assert len(result.successes) == 4 and result.best.config["TILE_N"] == 1024, result
    assert result.cost.num_compiled == 4, "they were compiled at the same time, not by ct.launch"
    by_config = tuneonce.exhaustive_search(
        space, torch.cuda.current_stream(), lambda c: (f.shape[0], 1, 1), lambda c: softmax.replace_hints(occupancy=c["occupancy"]),
        lambda c: (f, g, c["TILE_N"], 0, 1), quiet=True)
    assert by_config.best.config["TILE_N"] == 1024 and len(by_config.failures) == 2, by_config
    # The choice ties with the fastest: of configs that cannot be told apart, the first in the space.
    assert result.best.mean_us <= 1.02 * min(s.mean_us for s in result.successes), result


def test_exhaustive_search_over_callables():
    x = torch.randn(1 << 24, device="cuda")
    y = torch.empty_like(x)
    scales = (lambda: torch.mul(x, 2, out=y), lambda: torch.add(torch.mul(x, 1), x, out=y))

    flush = torch.empty(torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.int8, device="cuda")

    def took_us(run):
        """The median of runs whose L2 cache is overwritten before each, as a search overwrites it."""
        times = []
        for _ in range(41):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda._sleep(200_000)  # Cycles, in which all that follows is queued.
            flush.zero_()
            begin.record()
            run()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1000)
        return statistics.median(times)

    for timer, expected in (("events", "events"), (None, "events"), ("cupti", "cupti")):
        result = tuneonce.exhaustive_search([1, 0], None, None, lambda config: scales[config], lambda c: (), quiet=True,
                                            timer=timer)
        assert result.timer == expected and result.best.config == 0, result
        if timer == "cupti":  # CUPTI counts kernels: one config has two.
            assert [f.config for f in result.failures] == [1] and "records" in result.failures[0].message, result
        for success in result.successes:
            by_torch = took_us(scales[success.config])
            assert 0.8 < success.mean_us / by_torch < 1.25, (success, by_torch)
    f = torch.randn(2048, 1000, device="cuda")
    ours, g = kernel_of("softmax"), torch.empty_like(f)
    result = tuneonce.exhaustive_search(["torch", "ours"], torch.cuda.Stream(), None,
                                        lambda config: ours if config == "ours" else lambda x, y: torch.softmax(x, 1, out=y),
                                        lambda c: (f, g), quiet=True)
    assert len(result.successes) == 2 and result.timer == "cupti", result
    elsewhere = torch.cuda.Stream()

    def on_another_stream():
        with torch.cuda.stream(elsewhere):
            torch.mul(x, 2, out=y)
    expect(tuneonce.InternalError, "launched nothing on the stream",
           lambda: tuneonce.exhaustive_search([0], None, None, on_another_stream, lambda c: (), quiet=True, timer="events"))


def test_declared_outputs_of_callables_are_verified_and_protected():
    x, y = torch.randn(1 << 20, device="cuda").bfloat16(), torch.full((1 << 20,), 7, device="cuda", dtype=torch.bfloat16)
    scales = {"slow": lambda x, y: [torch.mul(x, 2, out=y) for _ in range(8)], "fast": lambda x, y: torch.mul(x, 2, out=y),
              "wrong": lambda x, y: torch.mul(x, 3, out=y)}
    result = tuneonce.exhaustive_search(list(scales), torch.cuda.current_stream(), None, lambda config: scales[config],
                                        lambda c: (x, y), quiet=True, baseline="slow", outputs=[1])
    assert result.best.config == "fast" and result.speedup_over_baseline > 1.02, result
    assert [f.config for f in result.failures] == ["wrong"] and "differ from the reference" in result.failures[0].message, result
    assert (y == 7).all(), "trials wrote scratch"


def test_cutile_and_triton_race_in_one_bundle():
    here = pathlib.Path(__file__).parent / "backends"
    with tempfile.TemporaryDirectory() as bundle:
        for language in ("cutile", "triton"):
            subprocess.run([sys.executable, "-m", "tuneonce.export", language, f"{here}/by_{language}.py:softmax", "-o", bundle],
                           check=True, capture_output=True)
        store = bundle + "/store.db"
        kernel = tuneonce.TunedKernel(bundle, store=store)
        f = torch.randn(300, 1000, device="cuda")
        g = torch.empty_like(f)
        kernel(f, g)
        torch.testing.assert_close(g, torch.softmax(f, 1))
        record = tuneonce.records(store)[0]
        print(record.best.config, record.best.mean_us, "us, by", record.best.toolchain)
        only_triton = json.loads(pathlib.Path(bundle, "manifest.json").read_text())
        only_triton["axes"][0]["values"] = ["triton"]
        only_triton["baseline"]["backend"] = "triton"
        only_triton["variants"] = [v for v in only_triton["variants"] if v.get("backend") == "triton"]
        pathlib.Path(bundle, "manifest.json").write_text(json.dumps(only_triton))
        g.zero_()
        tuneonce.TunedKernel(bundle, store="memory")(f, g)
        torch.testing.assert_close(g, torch.softmax(f, 1))


def exported(kernel, bundle, *options):
    """One of tests/python/triton_kernels.py as a bundle."""
    kernels = pathlib.Path(__file__).parent / "../python/triton_kernels.py"
    subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", f"{kernels}:{kernel}", "-o", bundle, *options], check=True,
                   capture_output=True)


def test_an_autotuned_triton_kernel_computes_the_same_whatever_its_arguments():
    with tempfile.TemporaryDirectory() as bundle:
        exported("matmul", bundle)
        manifest = pathlib.Path(bundle, "manifest.json")
        whole = json.loads(manifest.read_text())
        for config in [None, *whole["configs"]]:  # All, and each alone: one is of clusters.
            only = dict(whole) if config is None else {**whole, "configs": [config], "baseline": config}
            manifest.write_text(json.dumps(only))
            kernel = tuneonce.TunedKernel(bundle, store="memory")
            for m, n, k in ((256, 512, 128), (1, 512, 128), (100, 500, 100)):  # The last by the general variant.
                a, b = torch.randn(m, k, device="cuda").half(), torch.randn(k, n, device="cuda").half()
                c = torch.empty(m, n, device="cuda", dtype=torch.float16)
                kernel(a, b, c)
                torch.testing.assert_close(c, (a.float() @ b.float()).half(), atol=2e-2, rtol=2e-2)
            wide = torch.randn(256, 2 * 128 + 1, device="cuda").half()[:, :128]  # Rows at odd strides.
            c = torch.empty(256, 512, device="cuda", dtype=torch.float16)
            b = torch.randn(128, 512, device="cuda").half()
            kernel(wide, b, c)
            torch.testing.assert_close(c, (wide.float() @ b.float()).half(), atol=2e-2, rtol=2e-2)


def test_a_triton_kernel_that_makes_descriptors_gets_scratch():
    for options in ((), ("--cubin",)):
        with tempfile.TemporaryDirectory() as bundle:
            exported("described", bundle, *options)
            x = torch.randn(1 << 20, device="cuda")
            y = torch.empty_like(x)
            tuneonce.TunedKernel(bundle, store="memory")(x, y)
            assert torch.equal(x, y)


def test_a_triton_kernel_is_handed_tensor_descriptors():
    for options in ((), ("--cubin",)):
        with tempfile.TemporaryDirectory() as bundle:
            exported("mapped", bundle, *options)
            kernel = tuneonce.TunedKernel(bundle, store="memory")
            for m, n, k in ((256, 512, 128), (1, 512, 128), (100, 504, 104)):  # Of tiles, one row, and beyond the edges.
                a, b = torch.randn(m, k, device="cuda").half(), torch.randn(k, n, device="cuda").half()
                c = torch.empty(m, n, device="cuda", dtype=torch.float16)
                kernel(a, b, c)
                torch.testing.assert_close(c, (a.float() @ b.float()).half(), atol=2e-2, rtol=2e-2)
            wide = torch.randn(256, 2 * 128, device="cuda").half()[:, :128]  # Rows with a gap.
            c, b = torch.empty(256, 512, device="cuda", dtype=torch.float16), torch.randn(128, 512, device="cuda").half()
            kernel(wide, b, c)
            torch.testing.assert_close(c, (wide.float() @ b.float()).half(), atol=2e-2, rtol=2e-2)
            expect(tuneonce.InvalidArgumentError, "", lambda: kernel(torch.randn(64, 65, device="cuda").half(), torch.randn(
                65, 64, device="cuda").half(), torch.empty(64, 64, device="cuda", dtype=torch.float16)))  # No rows of 16 bytes.


run_tests(globals(), sys.argv[2:])
