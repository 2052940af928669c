"""Y = X W of each row's group: grouped_gemm_declared.py says it whole. Blocks of one group stand side by side, and
share the tiles of its w: grid (T // TILE_M + E, ceil(N / TILE_N))."""
import cuda.tile as ct

from grouped_gemm_declared import grouped_gemm_bundle  # noqa: F401

AT_ONCE = 256  # Offsets that a block looks at together.


def group_of(block, offsets, num_groups, TILE_M):
    """The last group that begins with this block or before."""
    count = 0
    for part in range(ct.cdiv(num_groups, AT_ONCE)):
        begins = ct.load(offsets, index=(part,), shape=(AT_ONCE,), padding_mode=ct.PaddingMode.ZERO)
        groups = part * AT_ONCE + ct.arange(AT_ONCE, dtype=ct.int32)
        begun = (begins // TILE_M + groups <= block) & (groups < num_groups)
        count = count + ct.sum(ct.astype(begun, ct.int32))
    return count - 1


@ct.kernel
def grouped_gemm(x, w, offsets, y, TILE_M: ct.Constant[int], TILE_N: ct.Constant[int], TILE_K: ct.Constant[int]):
    block, n = ct.bid(0), ct.bid(1)
    group = group_of(block, offsets, w.shape[0], TILE_M)
    begin, end = ct.gather(offsets, group), ct.gather(offsets, group + 1)
    m = block - begin // TILE_M - group
    if begin + m * TILE_M < end:
        rows = x.slice(axis=0, start=begin, stop=end)
        sums = ct.full((TILE_M, TILE_N), 0.0, dtype=ct.float32)
        for k in range(ct.cdiv(x.shape[1], TILE_K)):
            x_tile = ct.load(rows, index=(m, k), shape=(TILE_M, TILE_K), padding_mode=ct.PaddingMode.ZERO)
            w_tile = ct.load(w, index=(group, k, n), shape=(1, TILE_K, TILE_N), padding_mode=ct.PaddingMode.ZERO)
            sums = ct.mma(x_tile, ct.reshape(w_tile, (TILE_K, TILE_N)), sums)
        ct.store(y.slice(axis=0, start=begin, stop=end), index=(m, n), tile=ct.astype(sums, y.dtype))
