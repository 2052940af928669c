"""TileGym's cuTile kernels, launched as its wrappers do: rows, elements and norms here, the rest in two more."""
import torch
import torch.nn.functional as F

from case import Case, cdiv, pow2

from cases.tensors import FLOAT, HALF, empty, layer_norm_of, normal, rotated, sms
from cases.tilegym_attention import *  # noqa: F401,F403
from cases.tilegym_matmul import *  # noqa: F401,F403

BFLOAT = torch.bfloat16


def dropout(shape):
    x, output, p, seed = normal(shape["N"]), empty(shape["N"]), 0.5, 1234

    def reference():  # The kernel's own hash, in 32-bit integers that wrap.
        h = torch.arange(shape["N"], device=x.device, dtype=torch.int32) * 1103515245 + seed
        h = h ^ (h >> 16)
        h = h ^ (h << 8)
        h = h ^ (h >> 4)
        keep = (h & 0x7FFFFFFF).float() / 2147483647.0 > p
        return {"output": torch.where(keep, x / (1 - p), torch.zeros_like(x))}

    return Case({"x": x, "output": output, "P": p, "SEED": seed, "TILE_SIZE": 1024, "TRAINING": True}, ["output"],
                reference, lambda c: (cdiv(shape["N"], 1024),))


def relu(shape):
    x, y = normal(shape["N"]), empty(shape["N"])
    return Case({"x": x, "y": y, "N_ELEMENTS": shape["N"], "BLOCK_SIZE": 1024}, ["y"], lambda: {"y": F.relu(x)},
                lambda c: (cdiv(shape["N"], 1024),))


def gelu(shape):
    x, y = normal(shape["N"], dtype=FLOAT), empty(shape["N"], dtype=FLOAT)
    block = 4096 if shape["N"] >= 1 << 24 else 1024
    return Case({"y": y, "x": x, "N_ELEMENTS": shape["N"], "BLOCK_SIZE": block, "APPROXIMATE": 0}, ["y"],
                lambda: {"y": F.gelu(x, approximate="tanh")},
                lambda c: (cdiv(shape["N"], block),),
                tolerance=1e-4)


def geglu(shape):
    m, n = shape["M"], shape["N"]
    x, y = normal(m * 2 * n, dtype=FLOAT), empty(m * n, dtype=FLOAT)

    def reference():
        a, b = x.view(m, 2 * n).chunk(2, -1)
        return {"y": (a * F.gelu(b, approximate="tanh")).reshape(-1)}

    return Case({"y": y, "x": x, "N": n, "M_STRIDE": 2 * n, "MY_STRIDE": n, "BLOCK_SIZE": 256, "APPROXIMATE": 0}, ["y"],
                reference,
                lambda c: (cdiv(m * n, 256),),
                tolerance=1e-4)


def swiglu(shape):
    m, n = shape["M"], shape["N"]
    a, b, c = normal(m, n), normal(m, n), empty(m, n)
    return Case({"a": a, "b": b, "c": c, "TILE_SIZE": pow2(n), "check_bounds": pow2(n) != n}, ["c"],
                lambda: {"c": F.silu(a.float()) * b.float()}, lambda _: (m,))


def swiglu_backward(shape):
    m, n = shape["M"], shape["N"]
    dc, a, b = (normal(m, n) for _ in range(3))
    tile = pow2(n // cdiv(sms(), m))

    def reference():
        d, f, g = dc.float(), a.float(), b.float()
        s = torch.sigmoid(f)
        return {"da": d * g * s * (1 + f * (1 - s)), "db": d * f * s}

    return Case({"dc": dc, "a": a, "b": b, "da": empty(m, n), "db": empty(m, n), "TILE_SIZE": tile}, ["da", "db"],
                reference, lambda c: (m, cdiv(n, tile)))


def silu_and_mul(shape):
    m, n = shape["M"], shape["N"]
    both, output = normal(m, 2 * n), empty(m, n)
    tile_bytes = pow2(n) * 2
    hints = {"num_ctas": 1 if tile_bytes <= 8192 else 2, "num_worker_warps": 4 if tile_bytes <= 2048 else 8}
    return Case({"input": both, "output": output, "TILE_SIZE": pow2(n), "TOTAL_HIDDEN_SIZE": n}, ["output"],
                lambda: {"output": F.silu(both[:, :n].float()) * both[:, n:].float()}, lambda c: (m,),
                [{**hints, "occupancy": o} for o in (None, 1, 2, 4, 8, 12, 16)])


def transpose(shape):
    m, n = shape["M"], shape["N"]
    x, output = normal(m, n), empty(n, m)
    block = 128 if m >= 4096 and n >= 4096 else 64
    return Case({"input": x, "output": output, "M": m, "N": n, "BLOCK_M": block, "BLOCK_N": block}, ["output"],
                lambda: {"output": x.t()}, lambda c: (cdiv(m, block), cdiv(n, block)))


def rope(shape):
    b, h, k, s, d = (shape[name] for name in "BHKSD")
    q, key, angles = normal(b, h, s, d), normal(b, k, s, d), normal(1, s, d, dtype=FLOAT)
    cos, sin = angles.cos().half(), angles.sin().half()
    return Case(
        {
            "q": q, "k": key, "cos": cos, "sin": sin, "COS_BS": 1, "SEQ_LEN": s, "TILE_QH": pow2(h), "TILE_KH": pow2(k),
            "TILE_RD": pow2(d // 2)}, ["q", "k"], lambda: {"q": rotated(q, cos, sin), "k": rotated(key, cos, sin)},
        lambda c: (b * s,), [{"occupancy": o} for o in (1, 7, 9, 12)])


def _softmax(shape, constants, grid, configs):
    x, output = normal(shape["M"], shape["N"]), empty(shape["M"], shape["N"])
    return Case({"output": output, "input": x, **constants}, ["output"],
                lambda: {"output": torch.softmax(x.float(), -1)}, grid, configs)


def softmax(shape):
    return _softmax(shape, {"N_ROWS": shape["M"], "TILE_SIZE": pow2(shape["N"]), "DIM_COLS": shape["N"]}, lambda c:
                    (min(sms() * 4, shape["M"]),), [{"num_worker_warps": w} for w in (None, 4, 8)])


def softmax_multi_wave(shape):
    return _softmax(shape, {"N": shape["N"], "TILE_SIZE": pow2(shape["N"])}, lambda c: (shape["M"],), [{}])


def softmax_tma(shape):
    return _softmax(shape, {"N_ROWS": shape["M"], "N_COLS": shape["N"], "TILE_SIZE": pow2(shape["N"])}, lambda c:
                    (min(sms() * c["occupancy"], shape["M"]),), [{"occupancy": o} for o in (2, 4, 6, 8)])


def softmax_chunked(shape):
    return _softmax(shape, {"N_ROWS": shape["M"], "N_COLS": shape["N"], "TILE_SIZE": min(pow2(shape["N"]), 8192)},
                    lambda c: (min(sms() * 4, shape["M"]),), [{}])


def _rms_norm(shape, names, constants, grid):
    """names: the kernel's for x, weight, output, and the rows' reciprocal root mean square."""
    m, n, eps = shape["M"], shape["N"], 1e-5
    x, w = normal(m, n), normal(n)

    def reference():
        r = torch.rsqrt(x.float().pow(2).mean(-1) + eps)
        return {names[2]: x.float() * r[:, None] * w.float(), names[3]: r}

    return Case({**dict(zip(names, (x, w, empty(m, n), empty(m, dtype=FLOAT)))), **constants}, names[2:], reference,
                grid)


def rms_norm_gather(shape):
    n = shape["N"]
    return _rms_norm(shape, ["x", "w", "out", "Rstd"],
                     {"N": n, "EPS": 1e-5, "OFFSET": 0.0, "TILE_SIZE": min(2048, pow2(n))}, lambda c: (shape["M"],))


def rms_norm_cached(shape):
    n = shape["N"]
    return _rms_norm(shape, ["x", "w", "out", "Rstd"], {"N": n, "eps": 1e-5, "offset": 0.0, "TILE_SIZE": pow2(n)},
                     lambda c: (shape["M"],))


def rms_norm_persistent(shape):
    tile_n = pow2(shape["N"])
    tile_m = 16 if tile_n <= 1024 else 2 if tile_n >= 16384 else 4
    return _rms_norm(shape, ["X", "W", "Y", "Rstd"],
                     {"TILE_SIZE_M": tile_m, "TILE_SIZE_N": tile_n, "EPS": 1e-5, "OFFSET": 0.0}, lambda c:
                     (min(sms(), cdiv(shape["M"], tile_m)),))


def rms_norm_backward(shape):
    m, n = shape["M"], shape["N"]
    dy, x, w = normal(m, n), normal(m, n), normal(n)
    rstd = torch.rsqrt(x.float().pow(2).mean(-1) + 1e-5)
    tile_m = 4 if n <= 2048 or m >= 8192 and n <= 4096 else 1
    tiles = cdiv(m, tile_m)
    blocks = min(sms(), tiles, 32 if tiles <= 64 else tiles)

    def reference():
        d, g = dy.float(), dy.float() * w.float()
        normed = x.float() * rstd[:, None]
        partial = torch.zeros(blocks, n, device=x.device)  # Block b sums the tiles b, b + blocks, ...
        partial.index_add_(0, torch.arange(m, device=x.device) // tile_m % blocks, d * normed)
        return {"dx": (g - normed * (normed * g).mean(-1, keepdim=True)) * rstd[:, None], "dw_partial": partial}

    return Case(
        {
            "dx": empty(m, n), "dy": dy, "x": x, "weight": w, "Rstd": rstd, "dw_partial": empty(
                blocks, pow2(n), dtype=FLOAT), "TILE_M": tile_m, "TILE_N": pow2(n)}, ["dx", "dw_partial"],
        reference,
        lambda c: (blocks,),
        tolerance=1e-2)


def _layer_norm(shape, dtype, constants, grid, configs):
    m, n = shape["M"], shape["N"]
    x, w, b = normal(m, n, dtype=dtype), normal(n, dtype=dtype), normal(n, dtype=dtype)

    def reference():
        return dict(zip(("Y", "Mean", "Rstd"), layer_norm_of(x, w, b, 1e-5)))

    return Case(
        {
            "X": x, "Y": empty(m, n, dtype=dtype), "W": w, "B": b, "Mean": empty(m, dtype=FLOAT), "Rstd": empty(
                m, dtype=FLOAT), "EPS": 1e-5, **constants}, ["Y", "Mean", "Rstd"], reference, grid, configs)


def layer_norm(shape):
    n = shape["N"]
    return _layer_norm(shape, HALF, {"N": n, "WEIGHT_SHIFT": 0.0, "BLOCK_SIZE": min(32768, 1 << (n.bit_length() - 1))},
                       lambda c: (shape["M"],), [{}])


def persistent_layer_norm(shape):
    m, n = shape["M"], shape["N"]
    configs = [{"BLOCK_N": rows, "num_worker_warps": warps, "num_ctas": 1, "NUM_SMS": min(sms(), cdiv(m, rows))}
               for rows in (1, 2, 4, 8, 16, 32)
               for warps in (4, 8)
               if rows * pow2(n) <= 65536]
    return _layer_norm(
        shape, BFLOAT, {
            "N": m, "D": n, "STRIDE_X": n, "STRIDE_Y": n, "IS_SWISH": 0, "TRAINING": 1, "BLOCK_D": pow2(n),
            "COMPUTE_MEAN_AND_RSTD": 1}, lambda c: (c["NUM_SMS"],), configs)
