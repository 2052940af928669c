"""y = softmax(x) by rows of any length: TILE_N covers a row, or (LOOP 1) is as much of it as is taken at a time, twice.
A block takes one row, or (ONE_ROW 0) every num_blocks-th."""
import cuda.tile as ct
from tuneonce.export import Declaration, blocks, dim, greatest, least, num_sms, product, tensor

LEAST = -3.4e38  # Finite: of a row's first tiles all values may be -infinity.


def load(x, row, tile, TILE_N):
    tile = ct.load(x, index=(row, tile), shape=(1, TILE_N), padding_mode=ct.PaddingMode.NEG_INF)
    return ct.astype(tile, ct.float32)


def softmax_of(x, y, row, TILE_N, LOOP):
    tiles = ct.cdiv(x.shape[1], TILE_N)
    if LOOP == 0:
        values = load(x, row, 0, TILE_N)
        exponent = ct.exp(values - ct.max(values, axis=1, keepdims=True))
        ct.store(y, index=(row, 0), tile=ct.astype(exponent / ct.sum(exponent, axis=1, keepdims=True), y.dtype))
    else:
        largest = ct.full((1, 1), LEAST, dtype=ct.float32)
        total = ct.full((1, 1), 0.0, dtype=ct.float32)
        for tile in range(tiles):
            values = load(x, row, tile, TILE_N)
            most = ct.maximum(largest, ct.max(values, axis=1, keepdims=True))
            total = total * ct.exp(largest - most) + ct.sum(ct.exp(values - most), axis=1, keepdims=True)
            largest = most
        for tile in range(tiles):
            values = ct.exp(load(x, row, tile, TILE_N) - largest) / total
            ct.store(y, index=(row, tile), tile=ct.astype(values, y.dtype))


@ct.kernel
def softmax(x, y, TILE_N: ct.Constant[int], LOOP: ct.Constant[int], ONE_ROW: ct.Constant[int]):
    if ONE_ROW:
        softmax_of(x, y, ct.bid(0), TILE_N, LOOP)
    else:
        for row in range(ct.bid(0), x.shape[0], ct.num_blocks(0)):
            softmax_of(x, y, row, TILE_N, LOOP)


def config(backend, TILE_N, LOOP, ONE_ROW, occupancy, num_worker_warps=None):
    return {"backend": backend, "TILE_N": TILE_N, "LOOP": LOOP, "ONE_ROW": ONE_ROW, "occupancy": occupancy,
            "num_worker_warps": num_worker_warps}


def tile(occupancies, LOOP, ONE_ROW):
    return [config("tile", n, LOOP, ONE_ROW, each) for n, of in occupancies.items() for each in of]


LONGEST = 2147483647
softmax_bundle = Declaration(
    version="2", dims=["M", "N"],
    parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out"), dim("M"), dim("N")],
    key=[{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    configs=[*tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4], 8192: [1, 2, 4], 16384: [2]}, LOOP=0, ONE_ROW=1),
             *tile({1024: [4], 2048: [4], 4096: [2, 4], 8192: [1, 2]}, LOOP=0, ONE_ROW=0),
             # The warps that the compiler chooses have many elements of such a row for each thread.
             config("tile", 16384, 0, 1, 2, 16),
             *tile({1024: [2, 4], 2048: [2, 4], 4096: [1, 2, 4]}, LOOP=1, ONE_ROW=1),
             *(config("cuda", n, 1, 1, 1) for n in (1024, 2048, 4096, 8192)), config("cuda", 4096, 1, 0, 2)],
    baseline=[{"config": config("tile", 4096, 0, 1, 4)}, {"config": config("tile", 1024, 1, 1, 4)}],
    where=["N <= max(TILE_N, LOOP * 2147483647)", 'backend != "cuda" || device.capability > 0'],
    grid=blocks(least("M", greatest(product(num_sms(), "occupancy"), product("M", "ONE_ROW")))),
    divisible={"N": 16}, cpu="softmax.cpu.cc", work={"bytes": [[8, "M", "N"]], "operations": [[5, "M", "N"]]},
    example={"dims": {"M": 4096, "N": 4096}})
