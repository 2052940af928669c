from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["B", "H", "G", "S", "D", "L"],
    parameters=[tensor("Q", "float16", ["B", "H", "S", "D"]), *(tensor(x, "float16", ["B", "G", "S", "D"]) for x in "KV"),
                tensor("Sinks", "float16", ["H"]), tensor("Out", "float16", ["B", "H", "S", "D"], "out"),
                tensor("Start_q", "int32", ["L"], warmup=0), scalar("qk_scale", "float32", warmup=0.125)],
    constants={"TILE_D": ConstantOf("D", [64]), "H": ConstantOf("H", [16]), "N_KV_CTX": ConstantOf("S", [1024, 4096]),
               "QUERY_GROUP_SIZE": ConstantOf("G", [2], lambda g: 16 // g), "BANDWIDTH": 0},
    axes={"TILE_M": [256, 128, 64], "TILE_N": [128, 64]}, hint_axes={"num_ctas": [1], "occupancy": [1, 2, 4]},
    baseline={"TILE_M": 128, "TILE_N": 128, "num_ctas": 1, "occupancy": 2},
    grid={"pattern": "attention_2d", "tiles": [["S", {"axis": "TILE_M"}]], "batch": "B", "heads": "H"})
