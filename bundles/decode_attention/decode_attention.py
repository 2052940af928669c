"""o = softmax(scale q k^T) v of one query per sequence: decode_attention_declared.py says it whole. A block has up to
HEADS heads that share keys in registers and takes TILE_N of its split's keys at a time, with the maximum and the sum of
its rows so far (M. Milakov, N. Gimelshein, arXiv:1805.02867; T. Dao, arXiv:2307.08691): first tiles of keys that are
all there, then the last one of the sequence. Grid (splits, G ceil(H / G / HEADS), B)."""
import cuda.tile as ct

from decode_attention_declared import HEADS, decode_attention_bundle  # noqa: F401

LOG2_E = 1.4426950408889634
LEAST = -3.4e38  # Finite: the log2 of a sum of exponents of no keys, so that two of them differ by 0.


def add_keys(state, queries, k, v, at, scale, length, TILE_N, D, MASKED):
    """`state` (greatest score, sum of exponents, output so far) with one tile of keys. `v` ends where the keys do."""
    largest, total, sums = state
    batch, head, tile = at
    keys = ct.reshape(ct.load(k, index=(batch, head, 0, tile), shape=(1, 1, D, TILE_N), order=(0, 1, 3, 2),
                              padding_mode=ct.PaddingMode.ZERO), (D, TILE_N))
    values = ct.reshape(ct.load(v, index=(batch, head, tile, 0), shape=(1, 1, TILE_N, D),
                                padding_mode=ct.PaddingMode.ZERO), (TILE_N, D))
    scores = ct.mma(queries, keys, ct.full((HEADS, TILE_N), 0.0, dtype=ct.float32)) * scale
    if MASKED:
        seen = tile * TILE_N + ct.arange(TILE_N, dtype=ct.int32) < length
        scores = ct.where(ct.reshape(seen, (1, TILE_N)), scores, -float("inf"))
    most = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    exponents = ct.exp2(scores - most, flush_to_zero=True)
    factor = ct.exp2(largest - most, flush_to_zero=True)
    sums = ct.mma(ct.astype(exponents, v.dtype), values, sums * factor)
    return most, total * factor + ct.sum(exponents, axis=1, keepdims=True), sums


def partial_rows(block):
    """Where a block's rows are in partial_lse."""
    return block * HEADS + ct.reshape(ct.arange(HEADS, dtype=ct.int32), (HEADS, 1))


def partial_elements(block, D):
    """Where they are in partial_o."""
    return partial_rows(block) * D + ct.reshape(ct.arange(D, dtype=ct.int32), (1, D))


def combined(partial_o, partial_lse, first, D):
    """The output of all splits, whose blocks follow `first`."""
    most = ct.full((HEADS, 1), LEAST, dtype=ct.float32)
    for split in range(ct.num_blocks(0)):
        most = ct.maximum(most, ct.gather(partial_lse, partial_rows(first + split)))
    total = ct.full((HEADS, 1), 0.0, dtype=ct.float32)
    sums = ct.full((HEADS, D), 0.0, dtype=ct.float32)
    for split in range(ct.num_blocks(0)):
        weight = ct.exp2(ct.gather(partial_lse, partial_rows(first + split)) - most)
        total = total + weight
        sums = sums + weight * ct.gather(partial_o, partial_elements(first + split, D))
    return sums / total


@ct.kernel
def decode_attention(q, k, v, lengths, o, counters, scale: float, partial_o, partial_lse, TILE_N: ct.Constant[int],
                     D: ct.Constant[int]):
    split, group, batch, splits = ct.bid(0), ct.bid(1), ct.bid(2), ct.num_blocks(0)
    sharing = q.shape[1] // k.shape[1]
    parts = ct.cdiv(sharing, HEADS)
    at_head = group // parts
    begin = at_head * sharing + group % parts * HEADS
    end = ct.minimum(begin + HEADS, (at_head + 1) * sharing)
    queries = ct.reshape(ct.load(q.slice(axis=1, start=begin, stop=end), index=(batch, 0, 0), shape=(1, HEADS, D),
                                 padding_mode=ct.PaddingMode.ZERO), (HEADS, D))
    out = o.slice(axis=1, start=begin, stop=end)
    length = ct.gather(lengths, batch)
    v = v.slice(axis=2, start=0, stop=length)  # What the cache holds beyond may be no number, and times 0 none either.
    num_tiles = ct.cdiv(length, TILE_N)
    of_split = ct.cdiv(num_tiles, splits)
    first = split * of_split
    last = ct.minimum(first + of_split, num_tiles)
    whole = ct.minimum(last, length // TILE_N)
    largest = ct.full((HEADS, 1), LEAST, dtype=ct.float32)
    total = ct.full((HEADS, 1), 0.0, dtype=ct.float32)
    sums = ct.full((HEADS, D), 0.0, dtype=ct.float32)
    scale = scale * LOG2_E
    for tile in range(first, whole):
        largest, total, sums = add_keys((largest, total, sums), queries, k, v, (batch, at_head, tile), scale, length,
                                        TILE_N, D, False)
    for tile in range(ct.maximum(first, whole), last):
        largest, total, sums = add_keys((largest, total, sums), queries, k, v, (batch, at_head, tile), scale, length,
                                        TILE_N, D, True)
    result = sums / ct.where(total > 0.0, total, 1.0)
    if splits == 1:
        ct.store(out, index=(batch, 0, 0), tile=ct.reshape(ct.astype(result, o.dtype), (1, HEADS, D)))
    else:
        first_block = (batch * ct.num_blocks(1) + group) * splits
        lse = ct.where(total > 0.0, largest + ct.log2(total), LEAST)
        ct.scatter(partial_o, partial_elements(first_block + split, D), result)
        ct.scatter(partial_lse, partial_rows(first_block + split), lse)
        # Releases what this block wrote, and acquires what those before it did.
        done = ct.atomic_add(counters, (batch, begin), 1, memory_order=ct.MemoryOrder.ACQ_REL,
                             memory_scope=ct.MemoryScope.DEVICE)
        if done == splits - 1:
            result = combined(partial_o, partial_lse, first_block, D)
            ct.store(out, index=(batch, 0, 0), tile=ct.reshape(ct.astype(result, o.dtype), (1, HEADS, D)))
            ct.scatter(counters, (batch, begin), 0)
