from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["N"], parameters=[tensor("x", "float16", ["N"]), tensor("y", "float16", ["N"], "out")],
    constants={"N_ELEMENTS": 0, "BLOCK_SIZE": 1024},  # The kernel does not use N_ELEMENTS.
    grid={"pattern": "one_d", "tiles": [["N", 1024]]}, divisible={"N": 16})
