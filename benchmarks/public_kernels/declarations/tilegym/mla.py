from tuneonce.export import ConstantOf, Declaration, dim, scalar, tensor

bundle = Declaration(
    dims=["B", "H", "S", "D", "R", "L"],
    parameters=[tensor("Q", "float16", ["B", "H", "S", "D"]), tensor("QPE", "float16", ["B", "H", "S", "R"]),
                tensor("K", "float16", ["B", "H", "S", "D"]), tensor("KPE", "float16", ["B", "L", "S", "R"]),
                tensor("V", "float16", ["B", "H", "S", "D"]), tensor("Out", "float16", ["B", "H", "S", "D"], "out"),
                scalar("qk_scale", "float32", warmup=0.07), dim("H")],
    constants={"TILE_D": ConstantOf("D", [128]), "TILE_KPE": ConstantOf("R", [64]), "QUERY_GROUP_SIZE": 0},
    configs=[dict(TILE_M=m, TILE_N=n, num_ctas=1, occupancy=o) for o in (1, 2) for m in (64, 128, 256)[:4 - o] for n in (64, 128)],
    grid={"pattern": "attention_2d", "tiles": [["S", {"axis": "TILE_M"}]], "batch": "B", "heads": "H"}, divisible={"S": 16, "H": 16})
