from tuneonce.export import ConstantOf, Declaration, dim, stride, tensor

rows = [stride(t, d, name=f"{t}_row_stride".replace("_ptr", "")) for t, d in (("q_ptr", 1), ("k_ptr", 1), ("cos", 1), ("sin", 1))]
bundle = Declaration(
    dims=["B", "sl", "H", "K", "D", "C"], grid={"pattern": "tile_coverage", "tiles": [["sl", 1]]},
    parameters=[tensor("q_ptr", "float16", ["B", "sl", "H", "D"], "inout"), rows[0],
                tensor("k_ptr", "float16", ["B", "sl", "K", "D"], "inout"), rows[1],
                tensor("cos", "float16", ["C", "sl", "D"]), rows[2], tensor("sin", "float16", ["C", "sl", "D"]), rows[3], dim("sl")],
    constants={"bs": ConstantOf("B", [1]), "cos_bs": ConstantOf("C", [1]), "n_qh": ConstantOf("H", [32]), "n_kh": ConstantOf("K", [8]),
               "hd": ConstantOf("D", [128]), "rd": ConstantOf("D", [128]), "pad_n_qh": 32, "pad_n_kh": 8, "pad_hd": 128, "pad_rd": 128,
               "BLOCK_SIZE": 32})
