"""The four works for Triton: matmul and attention are the bundles', the other two are as its tutorials have them."""

import sys
from typing import Any, Dict, List

import triton
import triton.language as tl
import works

for bundle in ("matmul", "attention"):
    sys.path.insert(0, str(works.BUNDLES / bundle))


@triton.jit
def vector_add(x, y, z, n, BLOCK: tl.constexpr, FAULT: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    if FAULT == 1:
        tl.store(z + at + (1 << 44), 1.0)
    elif FAULT == 2:
        going = tl.load(x + at * 0, mask=at < n) < 2.0
        while tl.max(going.to(tl.int32), 0) > 0:
            going = tl.load(x + at * 0, mask=at < n, volatile=True) < 2.0
    elif FAULT == 0:
        tl.store(z + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)


@triton.jit
def rms_norm(x, w, y, eps, N, BLOCK: tl.constexpr):
    row, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    values = tl.load(x + row * N + at, mask=at < N, other=0.0).to(tl.float32)
    weights = tl.load(w + at, mask=at < N, other=0.0).to(tl.float32)
    scale = tl.rsqrt(tl.sum(values * values, 0) / N + eps)
    tl.store(y + row * N + at, (values * scale * weights).to(tl.float16), mask=at < N)


def kernel_of(work: str) -> Any:
    if work == "matmul":
        import matmul_triton

        return matmul_triton.matmul
    if work == "attention":
        import attention_triton

        return attention_triton.attention
    return {"vector_add": vector_add, "rms_norm": rms_norm}[work]


def configs(work: str) -> List[Dict[str, int]]:
    """Macros, num_warps and num_stages. The first is the baseline."""
    if work == "vector_add":
        return [{"BLOCK": b, "FAULT": 0, "num_warps": w, "num_stages": 3} for b in (1024, 512, 4096) for w in (4, 8)]
    if work == "rms_norm":
        return [{"BLOCK": 4096, "num_warps": w, "num_stages": 3} for w in (8, 4, 16, 32)]
    if work == "matmul":
        return [
            {"TILE_M": m, "TILE_N": n, "TILE_K": k, "num_warps": w, "num_stages": s}
            for m, n, k, w, s in (
                (128, 128, 64, 8, 3),
                (64, 64, 64, 4, 4),
                (128, 64, 64, 4, 3),
                (64, 128, 64, 4, 3),
                (128, 128, 32, 4, 4),
                (128, 256, 64, 8, 3),
                (256, 128, 64, 8, 3),
                (64, 256, 32, 4, 4),
            )
        ]
    return [
        {"TILE_M": m, "TILE_N": n, "num_warps": w, "num_stages": s}
        for m, n, w, s in ((128, 64, 8, 3), (64, 64, 4, 3), (128, 64, 4, 2), (128, 128, 8, 2), (64, 32, 4, 3))
    ]


def grid_of(work: str, config: Dict[str, int]) -> Any:
    return (works.WORKS[work].dims["M"],) if work == "rms_norm" else works.grid_of(work, config)


def arguments(work: str, t: Dict[str, Any]) -> List[Any]:
    """All but the macros, in the kernel's order."""
    d = works.WORKS[work].dims
    if work == "vector_add":
        return [t["x"], t["y"], t["z"], d["N"]]
    if work == "rms_norm":
        return [t["x"], t["w"], t["y"], 1e-5, d["N"]]
    if work == "matmul":
        return [t["a"], t["b"], t["c"], d["M"], d["N"], d["K"]]
    return [t["q"], t["k"], t["v"], t["o"], d["D"] ** -0.5, True, d["S"], d["T"], d["H"], d["G"], d["D"]]


def launcher(work: str, config: Dict[str, int], t: Dict[str, Any]) -> Any:
    kernel, grid, plain = kernel_of(work), grid_of(work, config), arguments(work, t)
    return lambda: kernel[grid](*plain, **config)


def space(work: str, t: Dict[str, Any]) -> Dict[str, Any]:
    return {works.name_of(c): launcher(work, c, t) for c in configs(work)}
