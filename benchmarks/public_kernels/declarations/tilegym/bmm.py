from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["Q", "M", "N", "K"],
    parameters=[tensor("A", "float16", ["Q", "M", "K"]), tensor("B", "float16", ["Q", "K", "N"]),
                tensor("C", "float16", ["Q", "M", "N"], "out")],
    constants={"TM": 128, "TN": 128, "TK": 32},
    grid={"pattern": "tile_coverage", "tiles": [["M", 128], ["N", 128], ["Q", 1]]},
    divisible={"M": 16, "N": 16, "K": 16})
