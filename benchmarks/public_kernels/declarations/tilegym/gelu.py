from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["N"], parameters=[tensor("y", "float32", ["N"], "out"), tensor("x", "float32", ["N"])],
    constants={"N_ELEMENTS": 0, "APPROXIMATE": 0},  # The kernel does not use N_ELEMENTS.
    axes={"BLOCK_SIZE": [1024, 4096]}, baseline={"BLOCK_SIZE": 1024},
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK_SIZE"}]]}, divisible={"N": 16})
