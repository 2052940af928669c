"""A kernel with each operation of Tile IR that has a flag to flush to zero or a rounding mode, and operations of other
dtypes and rounding modes, whose flags no patch may touch. make.py writes it with and without the flags."""
import cuda.tile as ct


def math_kernel(ftz, approx, version):
    """The kernel as its author would have written it with `ftz` and `approx`, for a version of the bytecode."""
    mode = ct.RoundingMode.APPROX if approx else ct.RoundingMode.RN
    tanh_mode = ct.RoundingMode.APPROX if approx and version >= "13.2" else ct.RoundingMode.FULL
    exp_mode = ct.RoundingMode.APPROX if approx and version >= "13.3" else ct.RoundingMode.FULL

    @ct.kernel
    def math(x, y, z, n: float):
        i = ct.bid(0)
        a = ct.load(x, index=(i,), shape=(128,))
        b = ct.add(a, 1.5, flush_to_zero=ftz)
        b = ct.mul(ct.sub(b, n, flush_to_zero=ftz), ct.maximum(a, b, flush_to_zero=ftz), flush_to_zero=ftz)
        b = ct.add(ct.mul(b, a, flush_to_zero=ftz), 2.0, flush_to_zero=ftz)
        b = ct.exp2(ct.minimum(b, 3.0, flush_to_zero=ftz), flush_to_zero=ftz)
        b = ct.sqrt(ct.rsqrt(b, flush_to_zero=ftz), rounding_mode=mode, flush_to_zero=ftz)
        c = ct.truediv(b, a, rounding_mode=mode, flush_to_zero=ftz)
        c = ct.truediv(c, b, rounding_mode=ct.RoundingMode.RZ, flush_to_zero=ftz)
        c = ct.exp(ct.tanh(c, rounding_mode=tanh_mode), rounding_mode=exp_mode)
        total = ct.sum(c, axis=0, keepdims=True, flush_to_zero=ftz)
        most = ct.max(c, axis=0, keepdims=True, flush_to_zero=ftz)
        d = ct.add(ct.cumsum(c, axis=0, flush_to_zero=ftz), ct.add(total, most, flush_to_zero=ftz), flush_to_zero=ftz)
        h = ct.load(z, index=(i,), shape=(128,))
        ct.store(z, index=(i,), tile=ct.sqrt((h + h) * h))
        ct.store(y, index=(i,), tile=d)

    return math
