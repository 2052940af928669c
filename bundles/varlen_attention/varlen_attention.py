"""o = softmax(scale q k^T) v within each sequence: varlen_attention_declared.py says it whole. A block has TILE_M
queries of a sequence and a head in registers and takes TILE_N keys at a time, with the maximum and the sum of its rows
so far (M. Milakov, N. Gimelshein, arXiv:1805.02867; T. Dao, arXiv:2307.08691): first those that every query sees, then
those of which some are masked. Of a sequence's blocks those with the most keys come first: grid
(T // TILE_M + OFFSETS - 1, H)."""
import cuda.tile as ct

from varlen_attention_declared import varlen_attention_bundle  # noqa: F401

LOG2_E = 1.4426950408889634
LEAST = -3.4e38  # Finite: a row may have seen nothing yet, and its scores may all be -infinity.
AT_ONCE = 256  # Offsets that a block looks at together.


def sequence_of(block, cu_seqlens, num_sequences, TILE_M):
    """The last sequence that begins with this block or before."""
    count = 0
    for part in range(ct.cdiv(num_sequences, AT_ONCE)):
        begins = ct.load(cu_seqlens, index=(part,), shape=(AT_ONCE,), padding_mode=ct.PaddingMode.ZERO)
        sequences = part * AT_ONCE + ct.arange(AT_ONCE, dtype=ct.int32)
        begun = (begins // TILE_M + sequences <= block) & (sequences < num_sequences)
        count = count + ct.sum(ct.astype(begun, ct.int32))
    return count - 1


def add_keys(state, queries, k, v, at, scale, last, TILE_M, TILE_N, D, MASKED):
    """`state` (greatest score, sum of exponents, output so far) with one tile of keys. at: head of k, tile. last: of
    each query, the last key that it sees."""
    largest, total, sums = state
    head, tile = at
    keys = ct.reshape(ct.load(k, index=(head, 0, tile), shape=(1, D, TILE_N), order=(1, 2, 0),
                              padding_mode=ct.PaddingMode.ZERO), (D, TILE_N))
    values = ct.reshape(ct.load(v, index=(tile, head, 0), shape=(TILE_N, 1, D), padding_mode=ct.PaddingMode.ZERO),
                        (TILE_N, D))
    scores = ct.mma(queries, keys, ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)) * scale
    if MASKED:
        columns = tile * TILE_N + ct.reshape(ct.arange(TILE_N, dtype=ct.int32), (1, TILE_N))
        scores = ct.where(columns <= last, scores, -float("inf"))
    most = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    exponents = ct.exp2(scores - most, flush_to_zero=True)
    factor = ct.exp2(largest - most, flush_to_zero=True)
    sums = ct.mma(ct.astype(exponents, v.dtype), values, sums * factor)
    return most, total * factor + ct.sum(exponents, axis=1, keepdims=True), sums


@ct.kernel
def varlen_attention(q, k, v, cu_seqlens, o, scale: float, causal: bool, TILE_M: ct.Constant[int],
                     TILE_N: ct.Constant[int], D: ct.Constant[int]):
    head = ct.bid(1)
    at_head = head * k.shape[1] // q.shape[1]
    sequence = sequence_of(ct.bid(0), cu_seqlens, cu_seqlens.shape[0] - 1, TILE_M)
    begin, end = ct.gather(cu_seqlens, sequence), ct.gather(cu_seqlens, sequence + 1)
    length = end - begin
    block = ct.cdiv(length, TILE_M) - 1 - (ct.bid(0) - begin // TILE_M - sequence)
    if block >= 0:
        keys, values = k.slice(axis=0, start=begin, stop=end), v.slice(axis=0, start=begin, stop=end)
        queries = ct.reshape(ct.load(q.slice(axis=0, start=begin, stop=end), index=(block, head, 0),
                                     shape=(TILE_M, 1, D), padding_mode=ct.PaddingMode.ZERO), (TILE_M, D))
        rows = block * TILE_M + ct.reshape(ct.arange(TILE_M, dtype=ct.int32), (TILE_M, 1))
        last = ct.where(causal, ct.minimum(rows, length - 1), length - 1)
        seen_by_all = ct.where(causal, ct.minimum(block * TILE_M + 1, length), length)
        seen = ct.where(causal, ct.minimum((block + 1) * TILE_M, length), length)
        largest = ct.full((TILE_M, 1), LEAST, dtype=ct.float32)
        total = ct.full((TILE_M, 1), 0.0, dtype=ct.float32)
        sums = ct.full((TILE_M, D), 0.0, dtype=ct.float32)
        whole = seen_by_all // TILE_N
        scale = scale * LOG2_E
        for tile in range(whole):
            largest, total, sums = add_keys((largest, total, sums), queries, keys, values, (at_head, tile), scale, last,
                                            TILE_M, TILE_N, D, False)
        for tile in range(whole, ct.cdiv(seen, TILE_N)):
            largest, total, sums = add_keys((largest, total, sums), queries, keys, values, (at_head, tile), scale, last,
                                            TILE_M, TILE_N, D, True)
        result = ct.astype(sums / ct.where(total > 0.0, total, 1.0), o.dtype)
        ct.store(o.slice(axis=0, start=begin, stop=end), index=(block, head, 0),
                 tile=ct.reshape(result, (TILE_M, 1, D)))
