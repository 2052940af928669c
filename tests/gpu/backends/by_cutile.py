"""y = softmax(x) by rows, one row per block. TILE_N must cover a row."""
import cuda.tile as ct

from declared import softmax_bundle  # noqa: F401


@ct.kernel
def softmax(x, y, TILE_N: ct.Constant[int]):
    row = ct.bid(0)
    x_row = ct.astype(ct.load(x, index=(row, 0), shape=(1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF), ct.float32)
    exponent = ct.exp(x_row - ct.max(x_row, axis=1, keepdims=True))
    ct.store(y, index=(row, 0), tile=ct.astype(exponent / ct.sum(exponent, axis=1, keepdims=True), y.dtype))
