from tuneonce.export import ConstantOf, Declaration, tensor


def pow2(n):
    return 1 << (n - 1).bit_length()


bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("output", "float16", ["M", "N"], "out"), tensor("input", "float16", ["M", "N"])],
    constants={"N_ROWS": ConstantOf("M", [4096]), "N_COLS": ConstantOf("N", [1024, 8192]),
               "TILE_SIZE": ConstantOf("N", [1024, 8192], pow2)},
    hint_axes={"occupancy": [2, 4, 6, 8]}, baseline={"occupancy": 2},
    grid={"pattern": "persistent_rows", "rows": "M", "occupancy": {"axis": "occupancy"}})
