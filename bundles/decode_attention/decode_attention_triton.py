"""o = softmax(scale q k^T) v of one query per sequence, as in decode_attention.py: grid (splits, G ceil(H / G / HEADS), B)."""
import triton
import triton.language as tl

from decode_attention_declared import decode_attention_bundle  # noqa: F401

LEAST = tl.constexpr(-3.4e38)  # Finite: the log2 of a sum of exponents of no keys, so that two of them differ by 0.
HEADS = tl.constexpr(16)


@triton.jit
def combined(partial_o, partial_lse, first, splits, D: tl.constexpr):
    """The output of all splits, whose blocks follow `first`."""
    rows, inner = tl.arange(0, HEADS), tl.arange(0, D)
    most = tl.full((HEADS,), LEAST, dtype=tl.float32)
    for split in range(0, splits):
        most = tl.maximum(most, tl.load(partial_lse + (first + split) * HEADS + rows, cache_modifier=".cg"))
    total = tl.zeros((HEADS,), dtype=tl.float32)
    sums = tl.zeros((HEADS, D), dtype=tl.float32)
    for split in range(0, splits):
        weight = tl.math.exp2(tl.load(partial_lse + (first + split) * HEADS + rows, cache_modifier=".cg") - most)
        part = tl.load(partial_o + ((first + split) * HEADS + rows[:, None]) * D + inner[None, :], cache_modifier=".cg")
        total += weight
        sums += weight[:, None] * part
    return sums / total[:, None]


@triton.jit
def decode_attention(q, k, v, lengths, o, counters, scale, partial_o, partial_lse, C, H, G, D: tl.constexpr,
                     TILE_N: tl.constexpr, SPLITS: tl.constexpr):
    split, group, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    sharing = H // G
    parts = tl.cdiv(sharing, HEADS)
    at_head = group // parts
    begin = at_head * sharing + group % parts * HEADS
    heads = tl.minimum(HEADS, (at_head + 1) * sharing - begin)
    rows, inner, in_tile = tl.arange(0, HEADS), tl.arange(0, D), tl.arange(0, TILE_N)
    of_queries = ((batch.to(tl.int64) * H + begin) + rows[:, None]) * D + inner[None, :]
    of_head = (batch.to(tl.int64) * G + at_head) * C * D
    queries = tl.load(q + of_queries, mask=rows[:, None] < heads, other=0.0)
    length = tl.load(lengths + batch)
    of_split = tl.cdiv(tl.cdiv(length, TILE_N), SPLITS) * TILE_N
    largest = tl.full((HEADS,), LEAST, dtype=tl.float32)
    total = tl.zeros((HEADS,), dtype=tl.float32)
    sums = tl.zeros((HEADS, D), dtype=tl.float32)
    scale = scale * 1.4426950408889634
    for first in range(split * of_split, tl.minimum((split + 1) * of_split, length), TILE_N):
        keys_seen = first + in_tile
        keys = tl.load(k + of_head + keys_seen[None, :].to(tl.int64) * D + inner[:, None], mask=keys_seen[None, :] < length,
                       other=0.0)
        values = tl.load(v + of_head + keys_seen[:, None].to(tl.int64) * D + inner[None, :],
                         mask=keys_seen[:, None] < length, other=0.0)
        scores = tl.where(keys_seen[None, :] < length, tl.dot(queries, keys) * scale, float("-inf"))
        most = tl.maximum(largest, tl.max(scores, 1))
        exponents = tl.math.exp2(scores - most[:, None])
        factor = tl.math.exp2(largest - most)
        sums = tl.dot(exponents.to(values.dtype), values, sums * factor[:, None])
        total = total * factor + tl.sum(exponents, 1)
        largest = most
    result = sums / tl.where(total > 0.0, total, 1.0)[:, None]
    if SPLITS == 1:
        tl.store(o + of_queries, result.to(o.dtype.element_ty), mask=rows[:, None] < heads)
    else:
        first_block = (batch.to(tl.int64) * tl.num_programs(1) + group) * SPLITS
        at = (first_block + split) * HEADS + rows
        tl.store(partial_o + at[:, None] * D + inner[None, :], result)
        tl.store(partial_lse + at, tl.where(total > 0.0, largest + tl.math.log2(total), LEAST))
        tl.debug_barrier()  # All of the block have stored before one of it says so.
        # Releases what this block wrote, and acquires what those before it did.
        counter = counters + batch.to(tl.int64) * H + begin
        done = tl.atomic_add(counter, 1, sem="acq_rel", scope="gpu")
        if done == SPLITS - 1:
            result = combined(partial_o, partial_lse, first_block, SPLITS, D)
            tl.store(o + of_queries, result.to(o.dtype.element_ty), mask=rows[:, None] < heads)
            tl.store(counter, 0)
