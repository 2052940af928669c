"""The configs of the bundles that tables of matmuls are recorded of: bundles/matmul's cuTile kernel with more tiles and hints.

python -m tuneonce.export cutile bundles/matmul/matmul.py:matmul --declaration benchmarks/tables/matmul_listed.py -o FOLDER
python -m tuneonce.export cutile bundles/matmul/matmul.py:matmul --declaration benchmarks/tables/matmul_all.py -o FOLDER
"""
import itertools

from tuneonce.export import Declaration, dim, tensor

MOST_SUMS = 128 * 256  # Elements of a tile of c, which stay in registers.
MOST_LOADED = 96 * 1024  # Bytes of the tiles of a and b of one step: two steps have to fit into shared memory.


def tiles_of(rows, columns, depths):
    return [(m, n, k) for m, n, k in itertools.product(rows, columns, depths)
            if m * n <= MOST_SUMS and 2 * (m + n) * k <= MOST_LOADED]


def config(tile, occupancy=1, num_ctas=1):
    return {"TILE_M": tile[0], "TILE_N": tile[1], "TILE_K": tile[2], "occupancy": occupancy, "num_ctas": num_ctas}


def listed():
    """All tiles, two blocks per multiprocessor where the sums of both fit, and clusters for large tiles."""
    tiles = tiles_of((16, 32, 64, 128, 256), (32, 64, 128, 256), (32, 64, 128))
    return [*map(config, tiles),
            *(config(tile, occupancy=2) for tile in tiles if 4096 <= tile[0] * tile[1] <= 16384 and tile[2] == 64),
            *(config(tile, num_ctas=2) for tile in tiles if tile[0] * tile[1] >= 16384 and tile[2] == 64)]


def all_of_them():
    tiles = tiles_of((16, 32, 64, 128, 256), (16, 32, 64, 128, 256), (16, 32, 64, 128))
    return [config(*each) for each in itertools.product(tiles, (1, 2, 3, 4), (1, 2, 4))]


def declaration(configs, unaligned):
    return Declaration(
        dims=["M", "N", "K"],
        parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                    tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
        configs=configs, max_configs=len(configs), baseline=config((128, 128, 64)), where=["63 / TILE_M * M <= 768"],
        grid={"pattern": "tile_coverage", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]},
        divisible={"N": 16, "K": 16}, unaligned=unaligned,
        work={"bytes": [[2, "M", "K"], [2, "K", "N"], [2, "M", "N"]], "operations": [[2, "M", "N", "K"]]},
        example={"dims": {"M": 4096, "N": 4096, "K": 4096}})
