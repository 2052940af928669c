from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["N"], parameters=[tensor("x", "float16", ["N"]), tensor("output", "float16", ["N"], "out")],
    constants={"P": 0.5, "SEED": 1234, "TILE_SIZE": 1024, "TRAINING": True},
    grid={"pattern": "one_d", "tiles": [["N", 1024]]}, divisible={"N": 16})
