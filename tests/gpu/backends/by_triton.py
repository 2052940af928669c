"""y = softmax(x) by rows, one row per program."""
import triton
import triton.language as tl

from declared import softmax_bundle  # noqa: F401


@triton.jit
def softmax(x, y, m, n, TILE_N: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, TILE_N)
    values = tl.load(x + row * n + columns, mask=columns < n, other=-float("inf"))
    exponent = tl.exp(values - tl.max(values, axis=0))
    tl.store(y + row * n + columns, exponent / tl.sum(exponent, axis=0), mask=columns < n)
