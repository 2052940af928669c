from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["M", "N"],
    parameters=[tensor("output", "float16", ["M", "N"], "out"), tensor("input", "float16", ["M", "N"])],
    constants={"N_ROWS": ConstantOf("M", [1024]), "N_COLS": ConstantOf("N", [16384, 65536]), "TILE_SIZE": 8192},
    grid={"pattern": "persistent_rows", "rows": "M", "occupancy": 4})
