from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["B", "H", "P", "D"],
    parameters=[tensor("attn_splitk_out", "float16", ["B", "H", "P", "D"]),
                tensor("lse_splitk_out", "float32", ["B", "H", "P"]),
                tensor("attn_out", "float16", ["B", "H", "D"], "out")],
    constants={"B": ConstantOf("B", [8, 64]), "S_KV": 4096, "NUM_HEADS": ConstantOf("H", [32]),
               "HEAD_DIM": ConstantOf("D", [128]),
               "NUM_KV_SPLITS": ConstantOf("P", [4, 16]), "NUM_KV_SPLITS_POW2": lambda c: c["P"], "TILE_D": 128,
               "USE_DOT": lambda c: c["P"] >= 16},
    grid={"pattern": "fixed", "blocks": ["B", "H"]})
