"""y = (x - mean(x)) / sqrt(var(x) + eps) * weight + bias by rows of any length: TILE_N covers a row, or (LOOP 1) is as
much of it as is taken at a time, twice. A block takes one row, or (ONE_ROW 0) every num_blocks-th.

The variance is that of the population. It is never a difference of two large numbers: a row that lies in registers is
centred first; of a longer one each lane of the tile keeps mean and squared deviations of its own values (B. P. Welford,
Technometrics 4, 1962), which are put together at the end (T. F. Chan, G. H. Golub, R. J. LeVeque, Stanford
STAN-CS-79-773)."""
import cuda.tile as ct
from tuneonce.export import Declaration, blocks, dim, greatest, least, num_sms, product, scalar, tensor, tensors


def load(x, index, shape):
    return ct.astype(ct.load(x, index=index, shape=shape, padding_mode=ct.PaddingMode.ZERO), ct.float32)


def parameters(weight, bias, tile, TILE_N):
    shape = (1, TILE_N)
    return ct.reshape(load(weight, (tile,), (TILE_N,)), shape), ct.reshape(load(bias, (tile,), (TILE_N,)), shape)


def total(values):
    return ct.sum(values, axis=1, keepdims=True)


def normalize(x, weight, bias, y, eps, row, TILE_N, LOOP):
    n = x.shape[1]
    tiles = ct.cdiv(n, TILE_N)
    columns = ct.reshape(ct.arange(TILE_N, dtype=ct.int32), (1, TILE_N))
    if LOOP == 0:
        values = load(x, (row, 0), (1, TILE_N))
        centred = ct.where(columns < n, values - total(values) / n, 0.0)
        scale = ct.rsqrt(total(centred * centred) / n + eps)
        factor, offset = parameters(weight, bias, 0, TILE_N)
        ct.store(y, index=(row, 0), tile=ct.astype(centred * scale * factor + offset, y.dtype))
    else:
        means = ct.full((1, TILE_N), 0.0, dtype=ct.float32)
        squares = ct.full((1, TILE_N), 0.0, dtype=ct.float32)
        for tile in range(tiles):
            values = load(x, (row, tile), (1, TILE_N))
            inside = columns < n - tile * TILE_N
            moved = ct.where(inside, values - means, 0.0)
            means = means + moved / ct.astype(tile + 1, ct.float32)
            squares = squares + ct.where(inside, moved * (values - means), 0.0)
        counts = ct.astype(ct.where(columns < n - (tiles - 1) * TILE_N, tiles, tiles - 1), ct.float32)
        mean = total(counts * means) / n
        scale = ct.rsqrt(total(squares + counts * (means - mean) * (means - mean)) / n + eps)
        for tile in range(tiles):
            factor, offset = parameters(weight, bias, tile, TILE_N)
            values = (load(x, (row, tile), (1, TILE_N)) - mean) * scale * factor + offset
            ct.store(y, index=(row, tile), tile=ct.astype(values, y.dtype))


@ct.kernel
def layer_norm(x, weight, bias, y, eps: float, TILE_N: ct.Constant[int], LOOP: ct.Constant[int],
               ONE_ROW: ct.Constant[int]):
    if ONE_ROW:
        normalize(x, weight, bias, y, eps, ct.bid(0), TILE_N, LOOP)
    else:
        for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
            normalize(x, weight, bias, y, eps, row, TILE_N, LOOP)


def config(backend, TILE_N, LOOP, ONE_ROW, occupancy):
    return {"backend": backend, "TILE_N": TILE_N, "LOOP": LOOP, "ONE_ROW": ONE_ROW, "occupancy": occupancy}


def tile(occupancies, LOOP, ONE_ROW):
    return [config("tile", n, LOOP, ONE_ROW, each) for n, of in occupancies.items() for each in of]


LONGEST = 2147483647
layer_norm_bundle = Declaration(
    dims=["M", "N"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("x", "float16", ["M", "N"]), *tensors("weight bias", "float16", ["N"]),
                tensor("y", "float16", ["M", "N"], "out"), scalar("eps", "float32", warmup=1e-5), dim("M"), dim("N")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    configs=[*tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4], 8192: [1, 2, 4], 16384: [2]}, LOOP=0, ONE_ROW=1),
             *tile({1024: [4], 2048: [4], 4096: [2, 4], 8192: [1, 2]}, LOOP=0, ONE_ROW=0),
             *tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4]}, LOOP=1, ONE_ROW=1),
             *(config("cuda", n, 1, 1, 1) for n in (1024, 2048, 4096, 8192)), config("cuda", 4096, 1, 0, 2)],
    baseline=[{"config": config("tile", 4096, 0, 1, 4)}, {"config": config("tile", 1024, 1, 1, 4)}],
    where=["N <= max(TILE_N, LOOP * 2147483647)", 'backend != "cuda" || device.capability > 0'],
    grid=blocks(least("M", greatest(product(num_sms(), "occupancy"), product("M", "ONE_ROW")))),
    divisible={"N": 16}, cpu="layer_norm.cpu.cc",
    work={"bytes": [[4, "M", "N"], [4, "N"]], "operations": [[7, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096}, "scalars": {"eps": 1e-5}})
