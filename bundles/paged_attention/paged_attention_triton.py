"""o = softmax(scale q k^T) v within each sequence, whose keys lie in pages, as in paged_attention.py: grid (T // TILE_M + S,
H)."""
import triton
import triton.language as tl

from paged_attention_declared import paged_attention_bundle  # noqa: F401


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
def add_keys(largest, total, sums, queries, k, v, pages, first, last, scale, length, G, PAGE, D: tl.constexpr,
             TILE_N: tl.constexpr, MASKED: tl.constexpr):
    """With the tile of keys from `first` on, which is within a page."""
    in_tile = tl.arange(0, TILE_N)
    rows = tl.load(pages + first // PAGE).to(tl.int64) * PAGE + first % PAGE + in_tile
    inner = tl.arange(0, D)
    of_keys = rows[None, :] * G * D + inner[:, None]
    of_values = rows[:, None] * G * D + inner[None, :]
    if MASKED:
        keys = tl.load(k + of_keys, mask=first + in_tile[None, :] < length, other=0.0)
        values = tl.load(v + of_values, mask=first + in_tile[:, None] < length, other=0.0)
        scores = tl.where(first + in_tile[None, :] <= last[:, None], tl.dot(queries, keys) * scale, float("-inf"))
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
def paged_attention(q, k, v, pages, lengths, cu_seqlens, o, scale, causal, S, H, G, D: tl.constexpr, PAGE, TABLE,
                    TILE_M: tl.constexpr, TILE_N: tl.constexpr):
    head = tl.program_id(1)
    sequence = sequence_of(tl.program_id(0), cu_seqlens, S, TILE_M)
    begin, end = tl.load(cu_seqlens + sequence), tl.load(cu_seqlens + sequence + 1)
    num_queries, length = end - begin, tl.load(lengths + sequence)
    block = tl.cdiv(num_queries, TILE_M) - 1 - (tl.program_id(0) - begin // TILE_M - sequence)
    if block >= 0:
        before = length - num_queries  # Keys that the first query sees beside its own.
        rows = block * TILE_M + tl.arange(0, TILE_M)
        of_queries = ((begin + rows[:, None]).to(tl.int64) * H + head) * D + tl.arange(0, D)[None, :]
        of_head = head * G // H * D
        of_pages = pages + sequence.to(tl.int64) * TABLE
        queries = tl.load(q + of_queries, mask=rows[:, None] < num_queries, other=0.0)
        seen_by_all = tl.where(causal, tl.minimum(tl.maximum(block * TILE_M + 1 + before, 0), length), length)
        seen = tl.where(causal, tl.minimum(tl.maximum((block + 1) * TILE_M + before, 0), length), length)
        last = tl.where(causal, tl.minimum(rows + before, length - 1), length - 1)
        largest = tl.full((TILE_M,), -3.4e38, dtype=tl.float32)
        total = tl.zeros((TILE_M,), dtype=tl.float32)
        sums = tl.zeros((TILE_M, D), dtype=tl.float32)
        scale = scale * 1.4426950408889634
        whole = seen_by_all // TILE_N * TILE_N
        for first in range(0, whole, TILE_N):
            largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, of_pages, first, last,
                                            scale, length, G, PAGE, D, TILE_N, False)
        for first in range(whole, seen, TILE_N):
            largest, total, sums = add_keys(largest, total, sums, queries, k + of_head, v + of_head, of_pages, first, last,
                                            scale, length, G, PAGE, D, TILE_N, True)
        result = sums / tl.where(total > 0.0, total, 1.0)[:, None]
        tl.store(o + of_queries, result.to(o.dtype.element_ty), mask=rows[:, None] < num_queries)
