from tuneonce.export import Declaration, dim, stride, tensor

bundle = Declaration(
    dims=["M", "H", "both"], where=["both == 2 * H"],
    parameters=[tensor("input_ptr", "float16", ["M", "both"]), tensor("output_ptr", "float16", ["M", "H"], "out"),
                dim("M"), dim("H"),
                *(stride(f"{t}put_ptr", d, name=f"stride_{t}_{n}") for t in ("in", "out") for d, n in enumerate("mh"))],
    constants={"BLOCK_SIZE_M": 64, "BLOCK_SIZE_H": 64}, grid={"pattern": "tile_coverage",
                                                              "tiles": [["M", 64], ["H", 64]]})
