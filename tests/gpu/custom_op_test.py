#!/usr/bin/env python3
"""The C++ custom op of docs/examples/custom_op on a GPU: custom_op_test.py LIBRARY. Needs torch; custom_op.sh builds it."""
import pathlib
import sys
import threading

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "python"))
from running import expect, run_tests  # noqa: E402

torch.ops.load_library(sys.argv[1])
rms_norm = torch.ops.tuneonce_example.rms_norm
HALF = torch.float16


def arguments(m=256, n=1024):
    return torch.randn(m, n, dtype=HALF, device="cuda"), torch.randn(n, dtype=HALF, device="cuda")


def check(y, x, w):
    f = x.float()
    expected = (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + 1e-5) * w.float()).half()
    torch.testing.assert_close(y, expected, rtol=2e-3, atol=2e-3)


def test_it_computes_what_torch_computes():
    for m, n in ((256, 1024), (33, 1000), (1, 4096)):
        x, w = arguments(m, n)
        check(rms_norm(x, w, 1e-5), x, w)


def test_under_torch_compile_fullgraph():
    x, w = arguments()
    compiled = torch.compile(lambda x, w: rms_norm(x, w, 1e-5) + 1, fullgraph=True)
    check(compiled(x, w) - 1, x, w)


def test_in_a_cuda_graph():
    x, w = arguments()
    rms_norm(x, w, 1e-5)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = rms_norm(x, w, 1e-5)
    x.copy_(torch.randn_like(x))
    graph.replay()
    check(y, x, w)


def test_from_threads_with_streams_of_their_own():
    x, w = arguments(64, 512)
    outputs = [None] * 8

    def run(i):
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(100):
                outputs[i] = rms_norm(x, w, 1e-5)
            torch.cuda.current_stream().synchronize()
    torch.cuda.synchronize()
    threads = [threading.Thread(target=run, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for y in outputs:
        check(y, x, w)


def test_what_does_not_fit_is_named():
    x, w = arguments()
    expect(RuntimeError, "expected float16, got Float", lambda: rms_norm(x.float(), w, 1e-5))
    expect(RuntimeError, "parameter 'w'", lambda: rms_norm(x, w[:100], 1e-5))
    expect(RuntimeError, "'x'", lambda: rms_norm(x[:, ::2], w[:512].contiguous(), 1e-5))


run_tests(globals(), sys.argv[2:])
