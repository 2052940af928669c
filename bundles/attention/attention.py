"""o = softmax(scale q k^T) v: attention_declared.py says it whole. A block has TILE_M queries of a head in registers
and takes TILE_N keys at a time, with the maximum and the sum of its rows so far (M. Milakov, N. Gimelshein,
arXiv:1805.02867; T. Dao, arXiv:2307.08691): first those that every query sees, then those of which some are masked.
Blocks with the most keys come first: grid (ceil(S / TILE_M), H, B)."""
import cuda.tile as ct

from attention_declared import attention_bundle  # noqa: F401

LOG2_E = 1.4426950408889634
LEAST = -3.4e38  # Finite: a row may have seen nothing yet, and its scores may all be -infinity.


def add_keys(state, queries, k, v, at, scale, first, last, TILE_M, TILE_N, D, MASKED):
    """`state` (greatest score, sum of exponents, output so far) with one tile of keys. first: the tile's first key.
    last: of each query, the last key that it sees."""
    largest, total, sums = state
    batch, head, tile = at
    keys = ct.reshape(ct.load(k, index=(batch, head, 0, tile), shape=(1, 1, D, TILE_N), order=(0, 1, 3, 2),
                              padding_mode=ct.PaddingMode.ZERO), (D, TILE_N))
    values = ct.reshape(ct.load(v, index=(batch, head, tile, 0), shape=(1, 1, TILE_N, D),
                                padding_mode=ct.PaddingMode.ZERO), (TILE_N, D))
    scores = ct.mma(queries, keys, ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)) * scale
    if MASKED:
        columns = first + ct.reshape(ct.arange(TILE_N, dtype=ct.int32), (1, TILE_N))
        scores = ct.where(columns <= last, scores, -float("inf"))
    most = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    exponents = ct.exp2(scores - most, flush_to_zero=True)
    factor = ct.exp2(largest - most, flush_to_zero=True)
    sums = ct.mma(ct.astype(exponents, v.dtype), values, sums * factor)
    return most, total * factor + ct.sum(exponents, axis=1, keepdims=True), sums


def keys_before(end, num_keys):
    return ct.minimum(ct.maximum(end, 0), num_keys)


@ct.kernel
def attention(q, k, v, o, scale: float, causal: bool, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int],
              D: ct.Constant[int]):
    block, head, batch = ct.num_blocks(0) - 1 - ct.bid(0), ct.bid(1), ct.bid(2)
    at_head = head * k.shape[1] // q.shape[1]
    num_keys = k.shape[2]
    queries = ct.reshape(ct.load(q, index=(batch, head, block, 0), shape=(1, 1, TILE_M, D),
                                 padding_mode=ct.PaddingMode.ZERO), (TILE_M, D))
    rows = block * TILE_M + ct.reshape(ct.arange(TILE_M, dtype=ct.int32), (TILE_M, 1))
    moved = num_keys - q.shape[2]
    last = ct.where(causal, ct.minimum(rows + moved, num_keys - 1), num_keys - 1)
    seen_by_all = ct.where(causal, keys_before(block * TILE_M + moved + 1, num_keys), num_keys)
    seen = ct.where(causal, keys_before((block + 1) * TILE_M + moved, num_keys), num_keys)
    largest = ct.full((TILE_M, 1), LEAST, dtype=ct.float32)
    total = ct.full((TILE_M, 1), 0.0, dtype=ct.float32)
    sums = ct.full((TILE_M, D), 0.0, dtype=ct.float32)
    whole = seen_by_all // TILE_N
    scale = scale * LOG2_E
    for tile in range(whole):
        largest, total, sums = add_keys((largest, total, sums), queries, k, v, (batch, at_head, tile), scale,
                                        tile * TILE_N, last, TILE_M, TILE_N, D, False)
    for tile in range(whole, ct.cdiv(seen, TILE_N)):
        largest, total, sums = add_keys((largest, total, sums), queries, k, v, (batch, at_head, tile), scale,
                                        tile * TILE_N, last, TILE_M, TILE_N, D, True)
    result = ct.astype(sums / ct.where(total > 0.0, total, 1.0), o.dtype)
    ct.store(o, index=(batch, head, block, 0), tile=ct.reshape(result, (1, 1, TILE_M, D)))
