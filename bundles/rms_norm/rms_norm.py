"""y = x / sqrt(mean(x^2) + eps) * w by rows of any length: TILE_N covers a row, or (LOOP 1) is as much of it as is
taken at a time, twice. A block takes one row, or (ONE_ROW 0) every num_blocks-th."""
import cuda.tile as ct
from tuneonce.export import Declaration, blocks, dim, greatest, least, num_sms, product, scalar, tensor


def load(x, index, shape):
    return ct.astype(ct.load(x, index=index, shape=shape, padding_mode=ct.PaddingMode.ZERO), ct.float32)


def normalize(x, w, y, eps, row, TILE_N, LOOP):
    n = x.shape[1]
    tiles = ct.cdiv(n, TILE_N)
    if LOOP == 0:
        values = load(x, (row, 0), (1, TILE_N))
        weight = ct.reshape(load(w, (0,), (TILE_N,)), (1, TILE_N))
        scale = ct.rsqrt(ct.sum(values * values, axis=1, keepdims=True) / n + eps)
        ct.store(y, index=(row, 0), tile=ct.astype(values * scale * weight, y.dtype))
    else:
        squares = ct.full((1, TILE_N), 0.0, dtype=ct.float32)
        for tile in range(tiles):
            values = load(x, (row, tile), (1, TILE_N))
            squares = squares + values * values
        scale = ct.rsqrt(ct.sum(squares, axis=1, keepdims=True) / n + eps)
        for tile in range(tiles):
            weight = ct.reshape(load(w, (tile,), (TILE_N,)), (1, TILE_N))
            values = load(x, (row, tile), (1, TILE_N)) * scale * weight
            ct.store(y, index=(row, tile), tile=ct.astype(values, y.dtype))


@ct.kernel
def rms_norm(x, w, y, eps: float, TILE_N: ct.Constant[int], LOOP: ct.Constant[int], ONE_ROW: ct.Constant[int]):
    if ONE_ROW:
        normalize(x, w, y, eps, ct.bid(0), TILE_N, LOOP)
    else:
        for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
            normalize(x, w, y, eps, row, TILE_N, LOOP)


def config(backend, TILE_N, LOOP, ONE_ROW, occupancy):
    return {"backend": backend, "TILE_N": TILE_N, "LOOP": LOOP, "ONE_ROW": ONE_ROW, "occupancy": occupancy}


def tile(occupancies, LOOP, ONE_ROW):
    return [config("tile", n, LOOP, ONE_ROW, each) for n, of in occupancies.items() for each in of]


LONGEST = 2147483647
rms_norm_bundle = Declaration(
    version="2", dims=["M", "N"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("w", "float16", ["N"]),
                tensor("y", "float16", ["M", "N"], "out"), scalar("eps", "float32", warmup=1e-5), dim("M"), dim("N")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    configs=[*tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4], 8192: [1, 2, 4], 16384: [2]}, LOOP=0, ONE_ROW=1),
             *tile({1024: [4], 2048: [4], 4096: [2, 4], 8192: [1, 2], 16384: [2]}, LOOP=0, ONE_ROW=0),
             *tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4]}, LOOP=1, ONE_ROW=1),
             *(config("cuda", n, 1, 1, 1) for n in (1024, 2048, 4096, 8192)), config("cuda", 4096, 1, 0, 2)],
    baseline=[{"config": config("tile", 4096, 0, 1, 4)}, {"config": config("tile", 1024, 1, 1, 4)}],
    where=["N <= max(TILE_N, LOOP * 2147483647)", 'backend != "cuda" || device.capability > 0'],
    grid=blocks(least("M", greatest(product(num_sms(), "occupancy"), product("M", "ONE_ROW")))),
    divisible={"N": 16}, cpu="rms_norm.cpu.cc",
    work={"bytes": [[4, "M", "N"], [2, "N"]], "operations": [[4, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096}, "scalars": {"eps": 1e-5}})
