from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["B", "H", "S", "D", "R"],
    parameters=[tensor("Q", "float16", ["B", "H", "D"]), tensor("QPE", "float16", ["B", "H", "R"]),
                tensor("K", "float16", ["B", "S", "D"]),
                tensor("V", "float16", ["B", "S", "D"]), tensor("KPE", "float16", ["B", "S", "R"]),
                tensor("Out", "float16", ["B", "H", "D"], "out"), tensor("L", "float32", ["B", "H"], "out"),
                scalar("sm_scale", "float32", warmup=0.04)],
    constants={"TILE_D": ConstantOf("D", [512]), "TILE_H": 16, "TILE_N": 64, "TILE_KPE": ConstantOf("R", [64]),
               "S_KV": ConstantOf("S", [1024, 4096]), "EVEN_N": lambda c: c["S"] % 64 == 0},
    grid={"pattern": "tile_coverage", "tiles": [["H", 16], ["B", 1]]}, divisible={"H": 16, "B": 16})
