from tuneonce.export import ConstantOf, Declaration, blocks, tensor

bundle = Declaration(
    dims=["M", "N"], key=[{"dim": "N"}],  # One config for all M: the package wants batch-invariant results.
    parameters=[tensor("input_ptr", "float32", ["M", "N"]), tensor("output_ptr", "float32", ["M", "N"], "out")],
    constants={"BLOCK_SIZE": 1024,
               **{c: ConstantOf("N", [128256]) for c in ("input_row_stride", "output_row_stride", "n_cols")}},
    hint_axes={"num_warps": [4, 8]}, baseline={"num_warps": 4}, grid=blocks("M"))
