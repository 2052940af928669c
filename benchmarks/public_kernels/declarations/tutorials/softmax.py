from tuneonce.export import Declaration, dim, stride, tensor

bundle = Declaration(
    dims=["n_rows", "n_cols"], where=["n_cols <= BLOCK_SIZE"],
    parameters=[tensor("output_ptr", "float32", ["n_rows", "n_cols"], "out"),
                tensor("input_ptr", "float32", ["n_rows", "n_cols"]),
                stride("input_ptr", 0, name="input_row_stride"), stride("output_ptr", 0, name="output_row_stride"),
                dim("n_rows"), dim("n_cols")],
    axes={"BLOCK_SIZE": [1024, 8192]}, constants={"num_stages": 4, "num_warps": 8}, baseline={"BLOCK_SIZE": 8192},
    grid={"pattern": "persistent_rows", "rows": "n_rows", "occupancy": 2})
