from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["B", "H", "K", "S", "D", "C"],
    parameters=[tensor("q", "float16", ["B", "H", "S", "D"], "inout"), tensor("k", "float16", ["B", "K", "S", "D"], "inout"),
                tensor("cos", "float16", ["C", "S", "D"]), tensor("sin", "float16", ["C", "S", "D"])],
    constants={"COS_BS": ConstantOf("C", [1]), "SEQ_LEN": ConstantOf("S", [1024, 8192]), "TILE_QH": ConstantOf("H", [32], pow2),
               "TILE_KH": ConstantOf("K", [8], pow2), "TILE_RD": ConstantOf("D", [128], lambda n: pow2(n // 2))},
    hint_axes={"occupancy": [1, 7, 9, 12]}, baseline={"occupancy": 9},
    grid={"pattern": "fixed", "blocks": [{"product": ["B", "S"]}]})
