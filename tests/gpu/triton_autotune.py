#!/usr/bin/env python3
"""tuneonce.triton.autotune on a GPU: triton_autotune.py [--quick]. Needs torch with CUDA, triton and tuneonce on PYTHONPATH. It
checks results, and prints what a call adds and how long first calls take, compared with triton.autotune."""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import warnings

import torch
import triton
import triton.language as tl

import raw_launch
import tuneonce.triton


def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


def softmax_kernel(x, out, stride_x, stride_out, num_columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    values = tl.load(x + row * stride_x + columns, mask=columns < num_columns, other=-float("inf")).to(tl.float32)
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * stride_out + columns, (values / tl.sum(values, axis=0)).to(out.dtype.element_ty),
             mask=columns < num_columns)


def layer_norm_kernel(x, weight, bias, out, mean_of, stride, num_columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * stride + columns, mask=columns < num_columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / num_columns
    tl.store(mean_of + row, mean)
    squares = tl.zeros([BLOCK], tl.float32)
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * stride + columns, mask=columns < num_columns, other=0.0).to(tl.float32)
        value = tl.where(columns < num_columns, value - mean, 0.0)
        squares += value * value
    scale = 1 / tl.sqrt(tl.sum(squares, axis=0) / num_columns + epsilon)
    for start in range(0, num_columns, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        mask = columns < num_columns
        value = (tl.load(x + row * stride + columns, mask=mask, other=0.0).to(tl.float32) - mean) * scale
        value = value * tl.load(weight + columns, mask=mask, other=0.0) + tl.load(bias + columns, mask=mask, other=0.0)
        tl.store(out + row * stride + columns, value.to(out.dtype.element_ty), mask=mask)


def matmul_kernel(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
                  BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr, EVEN_K: tl.constexpr):
    number = tl.program_id(0)
    num_m, num_n = tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N)
    first = number // (GROUP * num_n) * GROUP
    group = min(num_m - first, GROUP)
    tile_m, tile_n = first + number % (GROUP * num_n) % group, number % (GROUP * num_n) // group
    rows = (tile_m * BLOCK_M + tl.arange(0, BLOCK_M)) % M
    columns = (tile_n * BLOCK_N + tl.arange(0, BLOCK_N)) % N
    inner = tl.arange(0, BLOCK_K)
    a_at = a + rows[:, None] * stride_am + inner[None, :] * stride_ak
    b_at = b + inner[:, None] * stride_bk + columns[None, :] * stride_bn
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_K)):
        if EVEN_K:
            total = tl.dot(tl.load(a_at), tl.load(b_at), total)
        else:
            left = K - k * BLOCK_K
            total = tl.dot(tl.load(a_at, mask=inner[None, :] < left, other=0.0),
                           tl.load(b_at, mask=inner[:, None] < left, other=0.0), total)
        a_at += BLOCK_K * stride_ak
        b_at += BLOCK_K * stride_bk
    rows = tile_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    tl.store(c + stride_cm * rows[:, None] + stride_cn * columns[None, :], total.to(c.dtype.element_ty),
             mask=(rows[:, None] < M) & (columns[None, :] < N))


def split_kernel(x, total, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total, tl.sum(tl.load(x + at, mask=at < n, other=0.0)))


def transposed_kernel(x, out, M, N, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    read = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BLOCK_M, BLOCK_N])
    written = tl.make_tensor_descriptor(out, [N, M], [M, 1], [BLOCK_N, BLOCK_M])
    row, column = tl.program_id(0) * BLOCK_M, tl.program_id(1) * BLOCK_N
    written.store([column, row], read.load([row, column]).T)


def described_kernel(source, out, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(out + at + tl.arange(0, BLOCK), source.load([at]))


def blocks(*sizes):
    return [triton.Config({"BLOCK": size}, num_warps=warps) for size in sizes for warps in (2, 4, 8)]


MATMUL_CONFIGS = [triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k, "GROUP": 8}, num_stages=stages, num_warps=warps)
                  for m, n, k, stages, warps in [(128, 256, 64, 3, 8), (64, 256, 32, 4, 4), (128, 128, 32, 4, 4), (128, 64, 32, 4, 4),
                                                 (64, 128, 32, 4, 4), (128, 32, 32, 4, 4), (64, 32, 32, 5, 2), (128, 128, 64, 4, 8)]]
CASES = {
    "add": (add_kernel, blocks(256, 1024, 4096), ["n"]),
    "softmax": (softmax_kernel, [triton.Config({}, num_warps=w, num_stages=s) for w in (1, 2, 4, 8) for s in (2, 3)], ["num_columns"]),
    "layer_norm": (layer_norm_kernel, blocks(512, 1024, 2048), ["num_columns"]),
    "matmul": (matmul_kernel, MATMUL_CONFIGS, ["M", "N", "K"]),
}


def made(name, autotune, **options):
    function, configs, key = CASES[name]
    jit = triton.jit(function)
    if name == "matmul":
        jit = triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BLOCK_K"] == 0})(jit)
    return autotune(configs=configs, key=key, **options)(jit)


def call_of(name, size=1):
    """The arguments of a call: (positional, keywords, grid, outputs)."""
    torch.manual_seed(0)
    if name == "add":
        n = size * 98432
        x, y, out = (torch.randn(n, device="cuda") for _ in range(3))
        return (x, y, out, n), {}, lambda meta: (triton.cdiv(n, meta["BLOCK"]),), [out]
    if name == "softmax":
        x = torch.randn(1024, 1000, device="cuda", dtype=torch.float16)
        out = torch.empty_like(x)
        return (x, out, x.stride(0), out.stride(0), 1000), {"BLOCK": 1024}, (1024,), [out]
    if name == "layer_norm":
        x = torch.randn(1024, 2048, device="cuda", dtype=torch.float16)
        weight, bias = torch.randn(2048, device="cuda"), torch.randn(2048, device="cuda")
        out, mean = torch.empty_like(x), torch.empty(1024, device="cuda")
        return (x, weight, bias, out, mean, x.stride(0), 2048, 1e-5), {}, (1024,), [out, mean]
    m = n = k = 1024 * size
    a, b = (torch.randn(m, n, device="cuda", dtype=torch.float16) for _ in range(2))
    c = torch.empty(m, n, device="cuda", dtype=torch.float16)
    arguments = (a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return arguments, {}, lambda meta: (triton.cdiv(m, meta["BLOCK_M"]) * triton.cdiv(n, meta["BLOCK_N"]),), [c]


def first_call(kind, name):
    """Seconds of the first call in this process, with PyTorch's context made before."""
    arguments, keywords, grid, _ = call_of(name)
    torch.cuda.synchronize()
    options = {"cache_results": True}
    kernel = made(name, tuneonce.triton.autotune if kind == "ours" else triton.autotune, **options)
    begin = time.perf_counter()
    kernel[grid](*arguments, **keywords)
    torch.cuda.synchronize()
    return time.perf_counter() - begin, str(kernel.best_config)


def in_processes(kind, names, folder):
    """The seconds of the first calls of all kernels in one new process."""
    environment = {**os.environ, "TRITON_CACHE_DIR": os.path.join(folder, "triton"),
                   "TUNEONCE_STORE": os.path.join(folder, "store.db")}
    ran = subprocess.run([sys.executable, __file__, "--child", kind, *names], env=environment, capture_output=True, text=True)
    if ran.returncode != 0:
        raise SystemExit(ran.stderr)
    return json.loads(ran.stdout.splitlines()[-1])


def check_results():
    """Ours has the bits of Triton's own launch with the same config."""
    for name in CASES:
        kernel = made(name, tuneonce.triton.autotune)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for size in (1, 2):
                arguments, keywords, grid, outputs = call_of(name, size)
                for _ in range(3):
                    for output in outputs:
                        output.fill_(7)
                    kernel[grid](*arguments, **keywords)
                    of_ours = [output.clone() for output in outputs]
                    for output in outputs:
                        output.fill_(8)
                    kernel.fn[grid](*arguments, **keywords, **kernel.best_config.all_kwargs())
                    assert all(torch.equal(a, b) for a, b in zip(of_ours, outputs)), (name, str(kernel.best_config))
        ours = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        assert not ours, ours
        print(f"{name}: same bits as Triton with {kernel.best_config}")


def check_specialization():
    kernel = made("add", tuneonce.triton.autotune)
    x, y, out = (torch.randn(5000, device="cuda") for _ in range(3))
    for n in (1, 16, 17, 4096, 4097):
        for begin in (0, 1, 4):
            out.zero_()
            kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x[begin:], y[begin:], out[begin:], n)
            assert torch.equal(out[begin:begin + n], (x + y)[begin:begin + n]) and not out[begin + n:].any(), (n, begin)
    print("every alignment and extent: correct")


def check_atomics_and_hooks():
    for options in ({"reset_to_zero": ["total"]}, {"restore_value": ["total"]}):
        kernel = tuneonce.triton.autotune(blocks(256, 1024), ["n"], **options)(triton.jit(split_kernel))
        x = torch.rand(100000, device="cuda")
        total = torch.zeros(1, device="cuda")
        for _ in range(2):
            total.zero_()
            kernel[lambda meta: (triton.cdiv(100000, meta["BLOCK"]),)](x, total, 100000)
            torch.testing.assert_close(total[0], x.sum(), rtol=1e-4, atol=0)
    zeroing = [triton.Config({"BLOCK": size}, pre_hook=lambda nargs: nargs["total"].zero_()) for size in (256, 1024)]
    kernel = tuneonce.triton.autotune(zeroing, ["n"])(triton.jit(split_kernel))
    total.fill_(99)
    for _ in range(2):
        kernel[lambda meta: (triton.cdiv(100000, meta["BLOCK"]),)](x, total, 100000)
        torch.testing.assert_close(total[0], x.sum(), rtol=1e-4, atol=0)
    print("atomics, reset_to_zero, restore_value, pre_hook: correct")


def check_descriptors():
    """Those that the kernel makes need scratch memory of Triton's allocator. Those that the caller makes run by Triton."""
    triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))
    tiles = [triton.Config({"BLOCK_M": m, "BLOCK_N": n}) for m in (32, 64) for n in (32, 64)]
    kernel = tuneonce.triton.autotune(tiles, ["M", "N"])(triton.jit(transposed_kernel))
    x = torch.randn(512, 256, device="cuda")
    out = torch.empty(256, 512, device="cuda")
    for _ in range(3):
        out.zero_()
        kernel[lambda meta: (triton.cdiv(512, meta["BLOCK_M"]), triton.cdiv(256, meta["BLOCK_N"]))](x, out, 512, 256)
        assert torch.equal(out, x.T)
    from triton.tools.tensor_descriptor import TensorDescriptor
    kernel = tuneonce.triton.autotune([triton.Config({"BLOCK": 256}, num_warps=w) for w in (2, 4)], [])(triton.jit(described_kernel))
    out = torch.empty(1024, device="cuda")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            kernel[(4,)](TensorDescriptor.from_tensor(x.view(-1)[:1024], [256]), out)
    assert torch.equal(out, x.view(-1)[:1024])
    assert sum("by Triton's own autotuner" in str(w.message) for w in caught) == 1, [str(w.message) for w in caught]
    print("descriptors: correct")


def check_devices():
    if torch.cuda.device_count() < 2:
        print("several devices: not checked, since there is one")
        return
    kernel = made("add", tuneonce.triton.autotune)
    for index in (1, 0, 1):
        with torch.cuda.device(index):
            x, y = (torch.randn(5000, device=f"cuda:{index}") for _ in range(2))
            out = torch.empty_like(x)
            kernel[lambda meta: (triton.cdiv(5000, meta["BLOCK"]),)](x, y, out, 5000)
            assert torch.equal(out, x + y), index
    print("several devices: correct")


def check_export():
    import tuneonce
    kernel = made("add", tuneonce.triton.autotune)
    for n in (98432, 5000):
        x, y, out = (torch.randn(n, device="cuda") for _ in range(3))
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n)
    with tempfile.TemporaryDirectory() as folder:
        kernel.export(folder)
        bundle = tuneonce.load(folder + "/", store="memory")
        out.zero_()
        bundle(x, y, out, n)
        assert torch.equal(out, x + y)
    print("export: the bundle is correct")


def check_graphs_streams_threads():
    kernel = made("add", tuneonce.triton.autotune)
    arguments, keywords, grid, (out,) = call_of("add")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):  # The first call: the first config, or Triton's own.
        kernel[grid](*arguments)
    graph.replay()
    assert torch.equal(out, arguments[0] + arguments[1])
    kernel[grid](*arguments)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel[grid](*arguments)
    out.zero_()
    graph.replay()
    assert torch.equal(out, arguments[0] + arguments[1])
    stream = torch.cuda.Stream()
    out.zero_()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        kernel[grid](*arguments)
    stream.synchronize()
    assert torch.equal(out, arguments[0] + arguments[1])
    failures = []

    def work(index):
        try:
            x = torch.randn(3000 + index % 2, device="cuda")
            result = torch.empty_like(x)
            for _ in range(50):
                kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, x, result, x.numel())
            torch.cuda.synchronize()
            assert torch.equal(result, x + x)
        except Exception as error:
            failures.append(error)
    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    print("graphs, streams, threads: correct")


def check_autograd_and_custom_op():
    forward = made("add", tuneonce.triton.autotune)
    backward = tuneonce.triton.autotune(blocks(256, 512), ["n"])(triton.jit(add_kernel))

    class Add(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            out = torch.empty_like(x)
            forward[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
            return out

        @staticmethod
        def backward(ctx, grad):
            out = torch.empty_like(grad)
            backward[lambda meta: (triton.cdiv(grad.numel(), meta["BLOCK"]),)](grad, grad, out, grad.numel())
            return out, out

    x, y = (torch.randn(10000, device="cuda", requires_grad=True) for _ in range(2))
    result = Add.apply(x, y)
    result.backward(torch.randn_like(result))
    assert torch.equal(result, x + y) and x.grad is not None and forward.cache and backward.cache

    @torch.library.custom_op("tuneonce_test::add", mutates_args=())
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        out = torch.empty_like(x)
        forward[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, y, out, x.numel())
        return out

    add.register_fake(lambda x, y: torch.empty_like(x))
    with torch.no_grad():
        compiled = torch.compile(lambda x, y: add(x, y) * 2, fullgraph=True)
        assert torch.equal(compiled(x, y), (x + y) * 2)
    print("autograd, custom op under torch.compile: correct")


def print_costs():
    arguments, _, grid, _ = call_of("add")
    ours, theirs = made("add", tuneonce.triton.autotune), made("add", triton.autotune)
    ours[grid](*arguments)
    theirs[grid](*arguments)
    block = ours.best_config.kwargs["BLOCK"]
    fixed = (triton.cdiv(arguments[3], block),)
    jit = triton.jit(add_kernel)
    raw = raw_launch.RawLaunch(ours, [*arguments, ...], fixed)
    raw_launch.print_costs(raw, [
        ("tuneonce, fixed grid", lambda: ours[fixed](*arguments)),
        ("tuneonce, grid function", lambda: ours[grid](*arguments)),
        ("triton.jit, fixed grid", lambda: jit[fixed](*arguments, **ours.best_config.all_kwargs())),
        ("triton.autotune, fixed grid", lambda: theirs[fixed](*arguments)),
        ("triton.autotune, grid function", lambda: theirs[grid](*arguments)),
        ("the grid function alone", lambda: grid({"BLOCK": 1024}))])


def print_first_calls():
    for names in [list(CASES)]:
        with tempfile.TemporaryDirectory() as of_ours, tempfile.TemporaryDirectory() as of_triton:
            for what in ("cold", "second process"):
                ours, theirs = in_processes("ours", names, of_ours), in_processes("triton", names, of_triton)
                for name in names:
                    print(f"{what:15} {name:11} ours {ours[name][0]:7.3f} s, Triton {theirs[name][0]:7.3f} s, ratio "
                          f"{ours[name][0] / theirs[name][0]:.3f}; {ours[name][1]} | {theirs[name][1]}")
                total = [sum(each[n][0] for n in names) for each in (ours, theirs)]
                print(f"{what:15} {'sum':11} ours {total[0]:7.3f} s, Triton {total[1]:7.3f} s, ratio {total[0] / total[1]:.3f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true", help="only check results")
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps({name: first_call(arguments.child[0], name) for name in arguments.child[1:]}))
        return
    print(f"torch {torch.__version__}, triton {triton.__version__}, {torch.cuda.get_device_name()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TUNEONCE_STORE"] = os.path.join(folder, "store.db")
        check_results()
        check_specialization()
        check_atomics_and_hooks()
        check_descriptors()
        check_graphs_streams_threads()
        check_devices()
        check_export()
        check_autograd_and_custom_op()
        if not arguments.quick:
            print_costs()
    if not arguments.quick:
        print_first_calls()


if __name__ == "__main__":
    main()
