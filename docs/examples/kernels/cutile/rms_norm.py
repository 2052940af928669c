"""y = x / sqrt(mean(x^2) + eps) * w, one row per block. TILE_N must cover a row."""
import cuda.tile as ct


@ct.kernel
def rms_norm(x, w, y, eps: float, TILE_N: ct.Constant[int]):
    row = ct.bid(0)
    x_row = ct.astype(ct.load(x, index=(row, 0), shape=(1, TILE_N), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    weight = ct.astype(ct.load(w, index=(0,), shape=(TILE_N,), padding_mode=ct.PaddingMode.ZERO), ct.float32)
    mean_square = ct.sum(x_row * x_row, axis=1, keepdims=True) / x.shape[1]
    scaled = x_row * ct.rsqrt(mean_square + eps) * ct.reshape(weight, (1, TILE_N))
    ct.store(y, index=(row, 0), tile=ct.astype(scaled, y.dtype))
