"""What the two kernels beside it have in common: one bundle, in which cuTile's and Triton's code race."""
from tuneonce.export import Declaration, dim, tensor

softmax_bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "N"], "out"), dim("M"), dim("N")],
    axes={"backend": ["tile", "triton"], "TILE_N": [1024, 4096]}, baseline={"backend": "tile", "TILE_N": 4096},
    where=["N <= TILE_N"], grid={"pattern": "tile_coverage", "tiles": [["M", 1]]},
    example={"dims": {"M": 4096, "N": 4096}})
