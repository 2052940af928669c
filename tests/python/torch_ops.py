"""The example bundles as PyTorch ops, what PyTorch computes in their place, and arguments: for the CPU device and for a GPU."""
import dataclasses
from typing import Any, Callable, Dict, Tuple

import torch

import tuneonce.torch

HALF = torch.float16


def rms_norm(x, w, eps):
    f = x.float()
    return (f * torch.rsqrt(f.pow(2).mean(-1, keepdim=True) + eps) * w.float()).to(x.dtype)


def silu_and_mul(x):
    gate, up = x.float().chunk(2, 1)
    return (torch.nn.functional.silu(gate) * up).to(x.dtype)


def rope(x, cos, sin):
    low, high = x.float().chunk(2, -1)
    c, s = cos[:, None], sin[:, None]
    return torch.cat([low * c - high * s, high * c + low * s], -1).to(x.dtype)


def matmul(a, b):
    return (a.float() @ b.float()).to(a.dtype)


def layer_norm(x, weight, bias, eps):
    normal = torch.nn.functional.layer_norm(x.float(), x.shape[1:], weight.float(), bias.float(), eps)
    return normal.to(x.dtype)


def dual_gemm(x, w_gate, w_up):
    return (torch.nn.functional.silu(x.float() @ w_gate.float()) * (x.float() @ w_up.float())).to(x.dtype)


def elementwise(x, z):
    return (torch.nn.functional.gelu(x.float(), approximate="tanh") * z.float()).to(x.dtype)


def attention(q, k, v, scale, causal):
    """Of as many queries as keys: PyTorch counts `is_causal` from the first query, the bundle from the last."""
    groups = q.shape[1] // k.shape[1]
    k, v = (t.float().repeat_interleave(groups, 1) for t in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q.float(), k, v, is_causal=causal, scale=scale).to(q.dtype)


def fp8_matmul(a, b, scale_a, scale_b):
    return ((a.float() @ b.float().T) * scale_a * scale_b).to(torch.bfloat16)


def fp8_block_matmul(a, b, scale_a, scale_b):
    def spread(scales, like):
        return scales.repeat_interleave(128, 1)[:, :like.shape[1]]
    rows = scale_b.repeat_interleave(128, 0)[:b.shape[0]]
    return ((a.float() * spread(scale_a, a)) @ (b.float() * spread(rows, b)).T).to(torch.bfloat16)


def grouped_gemm(x, w, offsets):
    ends = offsets.tolist()
    parts = [x[begin:end].float() @ matrix.float() for matrix, begin, end in zip(w, ends, ends[1:])]
    return torch.cat(parts).to(x.dtype)


def varlen_attention(q, k, v, cu_seqlens, scale, causal):
    ends = cu_seqlens.tolist()
    of_one = lambda t, begin, end: t[begin:end].transpose(0, 1)[None]  # noqa: E731
    return torch.cat([attention(*(of_one(t, begin, end) for t in (q, k, v)), scale, causal)[0].transpose(0, 1)
                      for begin, end in zip(ends, ends[1:])])


def paged_attention(q, k, v, pages, lengths, cu_seqlens, scale, causal):
    """Of as many queries as keys."""
    flat = [torch.cat([cache[table].flatten(0, 1)[:length] for table, length in zip(pages, lengths.tolist())]) for cache in (k, v)]
    return varlen_attention(q, *flat, cu_seqlens, scale, causal)


def halves(device, *shapes):
    return tuple(torch.randn(*shape, dtype=HALF, device=device) for shape in shapes)


@dataclasses.dataclass
class Case:
    """One bundle: its reference, what makes arguments on a device, and how far results may be apart."""
    reference: Callable[..., Any]
    arguments: Callable[[str], Tuple[Any, ...]]
    tolerance: float = 1e-5
    dims: Dict[str, Callable[[Dict[str, int]], int]] = dataclasses.field(default_factory=dict)
    multiplied: int = 0  # Which argument PyTorch multiplies before the op, where it is compiled.


CASES = {
    "vector_add": Case(torch.add, lambda d: (torch.randn(3000, device=d), torch.randn(3000, device=d))),
    "softmax": Case(lambda x: torch.softmax(x, 1), lambda d: (torch.randn(48, 100, device=d),)),
    "rms_norm": Case(rms_norm, lambda d: (torch.randn(32, 96, dtype=HALF, device=d), torch.randn(96, dtype=HALF, device=d), 1e-5),
                     5e-3),
    "silu_and_mul": Case(silu_and_mul, lambda d: (torch.randn(32, 192, dtype=HALF, device=d),), 5e-3,
                         {"N": lambda dims: dims["N2"] // 2}),
    "rope": Case(rope, lambda d: (torch.randn(16, 4, 128, dtype=HALF, device=d), torch.randn(16, 64, device=d).cos(),
                                  torch.randn(16, 64, device=d).sin()), 5e-3),
    "matmul": Case(matmul, lambda d: (torch.randn(48, 32, dtype=HALF, device=d), torch.randn(32, 64, dtype=HALF, device=d)), 2e-2),
    "persistent_matmul": Case(matmul, lambda d: (torch.randn(48, 32, dtype=HALF, device=d),
                                                 torch.randn(32, 64, dtype=HALF, device=d)), 2e-2),
    "layer_norm": Case(layer_norm, lambda d: (*halves(d, (32, 96), (96,), (96,)), 1e-5), 5e-3),
    "dual_gemm": Case(dual_gemm, lambda d: tuple(t / 4 for t in halves(d, (48, 32), (32, 64), (32, 64))), 2e-2),
    "elementwise": Case(elementwise, lambda d: halves(d, (3000,), (3000,)), 5e-3),
    "attention": Case(attention, lambda d: (*halves(d, (2, 4, 40, 64), (2, 2, 40, 64), (2, 2, 40, 64)), 0.125, True),
                      5e-3),
    "fp8_matmul": Case(fp8_matmul, lambda d: (*(t.to(torch.float8_e4m3fn) for t in halves(d, (48, 64), (80, 64))),
                                              torch.rand(1, device=d), torch.rand(1, device=d)), 2e-2, multiplied=2),
    "fp8_block_matmul": Case(fp8_block_matmul, lambda d: (
        *(t.to(torch.float8_e4m3fn) for t in halves(d, (48, 192), (144, 192))), torch.rand(48, 2, device=d),
        torch.rand(2, 2, device=d)), 4e-2, multiplied=2),
    "grouped_gemm": Case(grouped_gemm, lambda d: (*halves(d, (48, 32), (3, 32, 64)),
                                                  torch.tensor([0, 17, 17, 48], dtype=torch.int32, device=d)), 2e-2),
    "varlen_attention": Case(varlen_attention, lambda d: (
        *halves(d, (40, 4, 64), (40, 2, 64), (40, 2, 64)),
        torch.tensor([0, 17, 18, 40], dtype=torch.int32, device=d), 0.125, True), 5e-3),
    "paged_attention": Case(paged_attention, lambda d: (
        *halves(d, (40, 4, 64), (6, 16, 2, 64), (6, 16, 2, 64)),
        *(torch.tensor(numbers, dtype=torch.int32, device=d)
          for numbers in ([[4, 1], [3, 3], [0, 5]], [17, 1, 22], [0, 17, 18, 40])), 0.125, True), 5e-3),
}
# Bundles that have code for bfloat16, too.
OF_BFLOAT16 = ("rms_norm", "silu_and_mul", "rope", "matmul", "persistent_matmul", "layer_norm", "dual_gemm", "elementwise",
               "attention", "grouped_gemm", "varlen_attention", "paged_attention")
_ops: Dict[str, "tuneonce.torch.CustomOp"] = {}


def op_of(name, device):
    """The bundle `name` as an op: one for all tests, since PyTorch takes a name once."""
    if name not in _ops:
        _ops[name] = tuneonce.torch.custom_op(f"tuneonce_test::{name}", name, device=device, store="memory", dims=CASES[name].dims)
    return _ops[name]


def close(got, expected, tolerance):
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)


def check_bfloat16(device):
    """The ops compute of bfloat16, which has 8 bits where a half has 11, what PyTorch does, by a tune of its own."""
    for name in OF_BFLOAT16:
        op, case = op_of(name, device), CASES[name]
        args = [a.bfloat16() if isinstance(a, torch.Tensor) and a.dtype == HALF else a for a in case.arguments(device)]
        tunes = op.kernel.counters()["tunes"]
        got = op(*args)
        assert got.dtype == torch.bfloat16, (name, got.dtype)
        close(got.float(), case.reference(*args).float(), 8 * case.tolerance)
        assert op.kernel.counters()["tunes"] == tunes + 1, name


def check_eager(device):
    """Each op computes what PyTorch does, changes no argument, and is what PyTorch wants an op to be."""
    for name, case in CASES.items():
        op, args = op_of(name, device), case.arguments(device)
        before = [a.clone() if isinstance(a, torch.Tensor) else a for a in args]
        for _ in range(2):  # Tuned, then a hit.
            close(op(*args), case.reference(*args), case.tolerance)
        assert all(torch.equal(a, b) for a, b in zip(args, before) if isinstance(a, torch.Tensor)), name
        assert op.kernel.counters()["tunes"] == 1 and op.kernel.counters()["hits"] >= 1, (name, op.kernel.counters())
        if not name.startswith("fp8"):  # PyTorch's check multiplies arguments, which it cannot with 8-bit floats.
            torch.library.opcheck(op._op._opoverload, args)


def check_pages(device):
    """What pages hold behind a sequence's keys may be no number."""
    name = "paged_attention"
    q, k, v, pages, lengths, *others = CASES[name].arguments(device)
    is_key = torch.zeros(k.shape[:2], dtype=torch.bool, device=device)
    for table, length in zip(pages.tolist(), lengths.tolist()):
        for key in range(length):
            is_key[table[key // k.shape[1]], key % k.shape[1]] = True
    for cache in (k, v):
        cache[~is_key] = float("nan")
    args = (q, k, v, pages, lengths, *others)
    close(op_of(name, device)(*args), CASES[name].reference(*args), CASES[name].tolerance)


def check_compiled(device, **options):
    """Each op within torch.compile(fullgraph=True), between PyTorch's own."""
    for name, case in CASES.items():
        torch.compiler.reset()  # It compiles one lambda 8 times at most.
        op, args = op_of(name, device), case.arguments(device)
        def halved(*a, at=case.multiplied):
            return (*a[:at], a[at] * 0.5, *a[at + 1:])
        compiled = torch.compile(lambda *a: op(*halved(*a)) + 1, fullgraph=True, **options)
        for _ in range(3):
            close(compiled(*args), case.reference(*halved(*args)) + 1, 2 * case.tolerance)


def check_autograd_with_keys_of_its_own(device):
    """A matmul whose backward is two more of it, of other shapes: three keys of one kernel; eager and compiled."""
    mm = tuneonce.torch.custom_op("tuneonce_test::matmul_with_backward", "matmul", device=device, store="memory")

    def backward(ctx, grad):
        a, b = ctx.saved_tensors
        return mm(grad.contiguous(), b.t().contiguous()), mm(a.t().contiguous(), grad.contiguous())

    mm.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    start = CASES["matmul"].arguments(device)
    expected = [t.float().requires_grad_() for t in start]
    (expected[0] @ expected[1]).square().sum().backward()
    for run in (mm, torch.compile(lambda a, b: mm(a, b), fullgraph=True, backend="aot_eager")):
        a, b = (t.clone().requires_grad_() for t in start)
        run(a, b).float().square().sum().backward()
        for got, wanted in zip((a.grad, b.grad), (expected[0].grad, expected[1].grad)):
            close(got.float() / wanted.abs().max(), wanted / wanted.abs().max(), 1e-2)
    assert mm.kernel.counters()["tunes"] == 3, mm.kernel.counters()


def check_captured():
    """Each op in a CUDA graph, tuned before: replayed on other values."""
    for name, case in CASES.items():
        op, args, other = op_of(name, "cuda"), case.arguments("cuda"), case.arguments("cuda")
        op(*args)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            got = op(*args)
        for tensor, value in zip(args, other):
            if isinstance(tensor, torch.Tensor):
                tensor.copy_(value)
        graph.replay()
        torch.cuda.synchronize()
        close(got, case.reference(*other), case.tolerance)
        assert op.kernel.counters()["capture_misses"] == 0, (name, op.kernel.counters())
