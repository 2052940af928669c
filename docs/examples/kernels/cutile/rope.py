"""Rotary embedding of x into y, both of (tokens, heads, 2 * HALF): grid (tokens,), TILE_H heads at a time.

y may be x: both are exported with one alias group, which lets them overlap.
"""
import cuda.tile as ct


@ct.kernel
def rope(x, cos, sin, y, TILE_H: ct.Constant[int], HALF: ct.Constant[int]):
    token = ct.bid(0)
    c = ct.reshape(ct.load(cos, index=(token, 0), shape=(1, HALF)), (1, 1, HALF))
    s = ct.reshape(ct.load(sin, index=(token, 0), shape=(1, HALF)), (1, 1, HALF))
    for block in range(ct.cdiv(x.shape[1], TILE_H)):
        low = ct.astype(ct.load(x, index=(token, block, 0), shape=(1, TILE_H, HALF)), ct.float32)
        high = ct.astype(ct.load(x, index=(token, block, 1), shape=(1, TILE_H, HALF)), ct.float32)
        ct.store(y, index=(token, block, 0), tile=ct.astype(low * c - high * s, y.dtype))
        ct.store(y, index=(token, block, 1), tile=ct.astype(high * c + low * s, y.dtype))
