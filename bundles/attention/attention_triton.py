"""o = softmax(scale q k^T) v, as in attention.py."""
import triton
import triton.language as tl

from attention_declared import attention_bundle  # noqa: F401


@triton.jit
def add_keys(largest, total, sums, queries, k, v, first, last, scale, T, D: tl.constexpr, TILE_N: tl.constexpr,
             MASKED: tl.constexpr):
    columns = first + tl.arange(0, TILE_N)
    inner = tl.arange(0, D)
    of_keys = columns[None, :].to(tl.int64) * D + inner[:, None]
    of_values = columns[:, None].to(tl.int64) * D + inner[None, :]
    if MASKED:
        keys = tl.load(k + of_keys, mask=columns[None, :] < T, other=0.0)
        values = tl.load(v + of_values, mask=columns[:, None] < T, other=0.0)
        scores = tl.where(columns[None, :] <= last[:, None], tl.dot(queries, keys) * scale, float("-inf"))
    else:
        keys = tl.load(k + of_keys)
        values = tl.load(v + of_values)
        scores = tl.dot(queries, keys) * scale
    most = tl.maximum(largest, tl.max(scores, 1))
    exponents = tl.math.exp2(scores - most[:, None])
    factor = tl.math.exp2(largest - most)
    sums = tl.dot(exponents.to(values.dtype), values, sums * factor[:, None])
    return most, total * factor + tl.sum(exponents, 1), sums


@triton.jit
def attention(q, k, v, o, scale, causal, S, T, H, G, D: tl.constexpr, TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    block, head, batch = tl.num_programs(0) - 1 - tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows = block * TILE_M + tl.arange(0, TILE_M)
    of_queries = ((batch.to(tl.int64) * H + head) * S + rows[:, None]) * D + tl.arange(0, D)[None, :]
    of_head = (batch.to(tl.int64) * G + head * G // H) * T * D
    queries = tl.load(q + of_queries, mask=rows[:, None] < S, other=0.0)
    moved = T - S
    seen_by_all = tl.where(causal, tl.minimum(tl.maximum(block * TILE_M + moved + 1, 0), T), T)
    seen = tl.where(causal, tl.minimum(tl.maximum(block * TILE_M + moved + TILE_M, 0), T), T)
    last = tl.where(causal, tl.minimum(rows + moved, T - 1), T - 1)
    largest = tl.full((TILE_M,), -3.4e38, dtype=tl.float32)
    total = tl.zeros((TILE_M,), dtype=tl.float32)
    sums = tl.zeros((TILE_M, D), dtype=tl.float32)
    scale = scale * 1.4426950408889634
    whole = seen_by_all // TILE_N * TILE_N
    for first in range(0, whole, TILE_N):
        largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, first, last, scale, T,
                                        D, TILE_N, False)
    for first in range(whole, seen, TILE_N):
        largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, first, last, scale, T,
                                        D, TILE_N, True)
    result = sums / tl.where(total > 0.0, total, 1.0)[:, None]
    tl.store(o + of_queries, result.to(o.dtype.element_ty), mask=rows[:, None] < S)
