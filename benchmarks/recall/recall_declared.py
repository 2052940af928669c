"""bundles/matmul's Triton kernel with the tiles, stages and warps that a model could choose among: what recall.py searches.

python -m tuneonce.export triton bundles/matmul/matmul_triton.py:matmul --declaration benchmarks/recall/recall_declared.py \\
  --cubin -o FOLDER

All shapes of recall.py have N and K that 16 divides, so that each config's code for such is enough."""
import itertools

from tuneonce.export import Declaration, dim, tensor

SHARED_MEMORY = 227 * 1024  # Of a block, compute capability 9.0.
TILES = [(64, 64), (64, 128), (128, 64), (128, 128), (64, 256), (256, 64), (128, 256), (256, 128)]


def fits(tile_m, tile_n, tile_k, num_warps, num_stages):
    """Its stages fit shared memory, and its sums a thread's registers; no thread has fewer than 16 of these."""
    of_thread = tile_m * tile_n // (32 * num_warps)
    return (tile_m + tile_n) * tile_k * 2 * num_stages <= SHARED_MEMORY and 16 <= of_thread <= 128


CONFIGS = [{"TILE_M": m, "TILE_N": n, "TILE_K": k, "num_warps": warps, "num_stages": stages}
           for (m, n), k, warps, stages in itertools.product(TILES, (32, 64, 128), (4, 8), (3, 4))
           if fits(m, n, k, warps, stages)]

bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K")],
    configs=CONFIGS, max_configs=len(CONFIGS), matmul={},
    baseline={"TILE_M": 64, "TILE_N": 64, "TILE_K": 64, "num_warps": 4, "num_stages": 4},
    grid={"pattern": "tile_coverage", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]},
    divisible={"N": 16, "K": 16},
    example={"dims": {"M": 4096, "N": 4096, "K": 4096}})
