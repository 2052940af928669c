from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["X", "Y"], where=["X == 2 * Y"],
    parameters=[tensor("y", "float32", ["Y"], "out"), tensor("x", "float32", ["X"]), scalar("N", "int32", warmup=4096)],
    constants={"N": ConstantOf("N", [4096, 8192]), "M_STRIDE": lambda c: 2 * c["N"], "MY_STRIDE": lambda c: c["N"],
               "BLOCK_SIZE": 256, "APPROXIMATE": 0},
    key=[{"dim": "X"}, {"value_of": "N"}],
    grid={"pattern": "one_d", "tiles": [["Y", 256]]}, divisible={"X": 16, "Y": 16})
