from tuneonce.export import ConstantOf, Declaration, dim, scalar, tensor

bundle = Declaration(
    dims=["B", "H_kv", "G", "D", "S_kv", "P"],
    parameters=[tensor("Q", "float16", ["B", "H_kv", "G", "D"]), *(tensor(x, "float16", ["B", "H_kv", "S_kv", "D"]) for x in "KV"),
                tensor("Att_Out", "float16", ["B", "H_kv", "G", "P", "D"], "out"),
                tensor("LSE_Out", "float32", ["B", "H_kv", "G", "P"], "out"),
                scalar("softmax_scale", "float32"), *(scalar("stride_mid_" + x, "int32") for x in ("ob", "oh", "os", "lseb", "lsem")),
                dim("B"), scalar("H_qo", "int32"), dim("H_kv"), dim("S_kv")],
    constants={"HEAD_DIM": ConstantOf("D", [128]), "TILE_N": 128, "NUM_Q_HEAD_PER_KV": ConstantOf("G", [4]), "QUERY_GROUP_TILE_SIZE": 8,
               "KV_LEN_PER_SPLIT": ConstantOf("S_kv", [2048, 16384], lambda s: s // 2), "NUM_KV_SPLITS": ConstantOf("P", [2])},
    alignments={"LSE_Out": 8}, grid={"pattern": "fixed", "blocks": ["B", "H_kv", "P"]})
