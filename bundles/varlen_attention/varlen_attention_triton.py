"""o = softmax(scale q k^T) v within each sequence, as in varlen_attention.py: grid (T // TILE_M + OFFSETS - 1, H)."""
import triton
import triton.language as tl

from varlen_attention_declared import varlen_attention_bundle  # noqa: F401


@triton.jit
def sequence_of(block, cu_seqlens, num_sequences, TILE_M: tl.constexpr):
    """The last sequence that begins with this block or before."""
    count = 0
    for part in range(0, num_sequences, 256):
        sequences = part + tl.arange(0, 256)
        begins = tl.load(cu_seqlens + sequences, mask=sequences < num_sequences, other=0)
        count += tl.sum(((begins // TILE_M + sequences <= block) & (sequences < num_sequences)).to(tl.int32))
    return count - 1


@triton.jit
def add_keys(largest, total, sums, queries, k, v, first, last, scale, length, G, D: tl.constexpr, TILE_N: tl.constexpr,
             MASKED: tl.constexpr):
    columns = first + tl.arange(0, TILE_N)
    inner = tl.arange(0, D)
    of_keys = columns[None, :].to(tl.int64) * G * D + inner[:, None]
    of_values = columns[:, None].to(tl.int64) * G * D + inner[None, :]
    if MASKED:
        keys = tl.load(k + of_keys, mask=columns[None, :] < length, other=0.0)
        values = tl.load(v + of_values, mask=columns[:, None] < length, other=0.0)
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
def varlen_attention(q, k, v, cu_seqlens, o, scale, causal, OFFSETS, H, G, D: tl.constexpr, TILE_M: tl.constexpr,
                     TILE_N: tl.constexpr):
    head = tl.program_id(1)
    sequence = sequence_of(tl.program_id(0), cu_seqlens, OFFSETS - 1, TILE_M)
    begin, end = tl.load(cu_seqlens + sequence), tl.load(cu_seqlens + sequence + 1)
    length = end - begin
    block = tl.cdiv(length, TILE_M) - 1 - (tl.program_id(0) - begin // TILE_M - sequence)
    if block >= 0:
        rows = block * TILE_M + tl.arange(0, TILE_M)
        of_queries = ((begin + rows[:, None]).to(tl.int64) * H + head) * D + tl.arange(0, D)[None, :]
        of_head = (begin.to(tl.int64) * G + head * G // H) * D
        queries = tl.load(q + of_queries, mask=rows[:, None] < length, other=0.0)
        seen_by_all = tl.where(causal, tl.minimum(block * TILE_M + 1, length), length)
        seen = tl.where(causal, tl.minimum((block + 1) * TILE_M, length), length)
        last = tl.where(causal, tl.minimum(rows, length - 1), length - 1)
        largest = tl.full((TILE_M,), -3.4e38, dtype=tl.float32)
        total = tl.zeros((TILE_M,), dtype=tl.float32)
        sums = tl.zeros((TILE_M, D), dtype=tl.float32)
        scale = scale * 1.4426950408889634
        whole = seen_by_all // TILE_N * TILE_N
        for first in range(0, whole, TILE_N):
            largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, first, last, scale,
                                            length, G, D, TILE_N, False)
        for first in range(whole, seen, TILE_N):
            largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, first, last, scale,
                                            length, G, D, TILE_N, True)
        result = sums / tl.where(total > 0.0, total, 1.0)[:, None]
        tl.store(o + of_queries, result.to(o.dtype.element_ty), mask=rows[:, None] < length)
