"""o = softmax(scale q k^T) v within each sequence, whose keys lie in pages: paged_attention_declared.py says it whole. A block
has TILE_M queries of a sequence and a head in registers and takes TILE_N keys of a page at a time, with the maximum and
the sum of its rows so far (M. Milakov, N. Gimelshein, arXiv:1805.02867; T. Dao, arXiv:2307.08691): first those that every
query sees, then those of which some are masked. Of a sequence's blocks those with the most keys come first: grid
(T // TILE_M + S, H)."""
import cuda.tile as ct

from paged_attention_declared import paged_attention_bundle  # noqa: F401

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


def add_keys(state, queries, caches, at, scale, seen, TILE_M, TILE_N, D, MASKED):
    """`state` (greatest score, sum of exponents, output so far) with one tile of keys. at: sequence, head of k, tile.
    seen: of each query the last key that it sees, and how many keys there are."""
    largest, total, sums = state
    k, v, pages = caches
    sequence, head, tile = at
    last, num_keys = seen
    of_page = k.shape[1] // TILE_N
    page, part = ct.gather(pages, (sequence, tile // of_page)), tile % of_page
    keys = ct.reshape(ct.load(k, index=(page, head, 0, part), shape=(1, 1, D, TILE_N), order=(0, 2, 3, 1),
                              padding_mode=ct.PaddingMode.ZERO), (D, TILE_N))
    values = ct.reshape(ct.load(v, index=(page, part, head, 0), shape=(1, TILE_N, 1, D),
                                padding_mode=ct.PaddingMode.ZERO), (TILE_N, D))
    scores = ct.mma(queries, keys, ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)) * scale
    if MASKED:
        columns = tile * TILE_N + ct.arange(TILE_N, dtype=ct.int32)
        scores = ct.where(ct.reshape(columns, (1, TILE_N)) <= last, scores, -float("inf"))
        # What a page holds beyond may be no number, and times 0 none either.
        values = ct.where(ct.reshape(columns, (TILE_N, 1)) < num_keys, values, ct.full((TILE_N, D), 0.0, dtype=v.dtype))
    most = ct.maximum(largest, ct.max(scores, axis=1, keepdims=True))
    exponents = ct.exp2(scores - most, flush_to_zero=True)
    factor = ct.exp2(largest - most, flush_to_zero=True)
    sums = ct.mma(ct.astype(exponents, v.dtype), values, sums * factor)
    return most, total * factor + ct.sum(exponents, axis=1, keepdims=True), sums


@ct.kernel
def paged_attention(q, k, v, pages, lengths, cu_seqlens, o, scale: float, causal: bool, TILE_M: ct.Constant[int],
                    TILE_N: ct.Constant[int], D: ct.Constant[int]):
    head = ct.bid(1)
    at_head = head * k.shape[2] // q.shape[1]
    sequence = sequence_of(ct.bid(0), cu_seqlens, lengths.shape[0], TILE_M)
    begin, end = ct.gather(cu_seqlens, sequence), ct.gather(cu_seqlens, sequence + 1)
    num_queries, num_keys = end - begin, ct.gather(lengths, sequence)
    block = ct.cdiv(num_queries, TILE_M) - 1 - (ct.bid(0) - begin // TILE_M - sequence)
    if block >= 0:
        queries = ct.reshape(ct.load(q.slice(axis=0, start=begin, stop=end), index=(block, head, 0),
                                     shape=(TILE_M, 1, D), padding_mode=ct.PaddingMode.ZERO), (TILE_M, D))
        before = num_keys - num_queries  # Keys that the first query sees beside its own.
        rows = block * TILE_M + ct.reshape(ct.arange(TILE_M, dtype=ct.int32), (TILE_M, 1))
        last = ct.where(causal, ct.minimum(rows + before, num_keys - 1), num_keys - 1)
        seen_by_all = ct.where(causal, ct.minimum(block * TILE_M + 1 + before, num_keys), num_keys)
        seen = ct.where(causal, ct.minimum((block + 1) * TILE_M + before, num_keys), num_keys)
        largest = ct.full((TILE_M, 1), LEAST, dtype=ct.float32)
        total = ct.full((TILE_M, 1), 0.0, dtype=ct.float32)
        sums = ct.full((TILE_M, D), 0.0, dtype=ct.float32)
        whole = ct.maximum(seen_by_all, 0) // TILE_N
        scale = scale * LOG2_E
        for tile in range(whole):
            largest, total, sums = add_keys((largest, total, sums), queries, (k, v, pages), (sequence, at_head, tile), scale,
                                            (last, num_keys), TILE_M, TILE_N, D, False)
        for tile in range(whole, ct.cdiv(ct.maximum(seen, 0), TILE_N)):
            largest, total, sums = add_keys((largest, total, sums), queries, (k, v, pages), (sequence, at_head, tile), scale,
                                            (last, num_keys), TILE_M, TILE_N, D, True)
        result = ct.astype(sums / ct.where(total > 0.0, total, 1.0), o.dtype)
        ct.store(o.slice(axis=0, start=begin, stop=end), index=(block, head, 0),
                 tile=ct.reshape(result, (TILE_M, 1, D)))
