from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["M", "N"], parameters=[tensor("input", "float16", ["M", "N"]),
                                 tensor("output", "float16", ["N", "M"], "out")],
    constants={"M": 0, "N": 0},  # The kernel does not use them.
    configs=[{"BLOCK_M": 64, "BLOCK_N": 64}, {"BLOCK_M": 128, "BLOCK_N": 128}], baseline={"BLOCK_M": 64, "BLOCK_N": 64},
    grid={"pattern": "tile_coverage", "tiles": [["M", {"axis": "BLOCK_M"}], ["N", {"axis": "BLOCK_N"}]]},
    divisible={"M": 16, "N": 16})
