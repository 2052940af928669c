from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["B", "H", "S", "D"],
    parameters=[tensor("Q", "float16", ["B", "H", "S", "D"]), tensor("K", "float16", ["B", "H", "S", "D"]),
                tensor("V", "float16", ["B", "H", "S", "D"]), *(tensor(x, "int32", ["B"], warmup="S") for x in ("Q_lens", "KV_lens")),
                tensor("Out", "float16", ["B", "H", "S", "D"], "out", may_be_partial=True), scalar("qk_scale", "float32", warmup=0.088)],
    constants={"TILE_D": ConstantOf("D", [128]), "H": ConstantOf("H", [16]), "S_QO": ConstantOf("S", [1024, 4096]),
               "S_KV": ConstantOf("S", [1024, 4096]), "QUERY_GROUP_SIZE": 0, "CAUSAL": True, "Q_LEN_MASK": True, "KV_LEN_MASK": True},
    configs=[dict(TILE_M=m, TILE_N=n, num_ctas=ctas, occupancy=o) for m, n, ctas, o in
             ((256, 128, 1, 1), (128, 128, 1, 2), (128, 64, 1, 2), (64, 64, 1, 4), (64, 128, 1, 2), (256, 64, 1, 1), (128, 128, 1, 1))],
    grid={"pattern": "attention_2d", "tiles": [["S", {"axis": "TILE_M"}]], "batch": "B", "heads": "H"})
