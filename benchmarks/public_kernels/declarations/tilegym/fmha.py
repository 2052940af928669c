from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["B", "H", "S", "D"], where=["S % 128 == 0"],
    parameters=[tensor("Q", "float16", ["B", "H", "S", "D"]), tensor("K", "float16", ["B", "H", "S", "D"]),
                tensor("V", "float16", ["B", "H", "S", "D"]), tensor("Out", "float16", ["B", "H", "S", "D"], "out"),
                scalar("qk_scale", "float32", warmup=0.088), scalar("input_pos", "int32", warmup=0)],
    constants={"TILE_D": ConstantOf("D", [128]), "H": ConstantOf("H", [16]), "QUERY_GROUP_SIZE": 1, "CAUSAL": True, "EVEN_K": True},
    configs=[dict(TILE_M=m, TILE_N=n, num_ctas=ctas, occupancy=o) for m, n, ctas, o in
             ((256, 128, 1, 1), (128, 128, 1, 2), (256, 128, 1, 2), (256, 128, 2, 2))],
    baseline=dict(TILE_M=128, TILE_N=128, num_ctas=1, occupancy=2), divisible={"S": 16},
    grid={"pattern": "attention_2d", "tiles": [["S", {"axis": "TILE_M"}]], "batch": "B", "heads": "H"})
