from tuneonce.export import Declaration, dim, tensor

bundle = Declaration(
    dims=["n_elements"], key=[{"dim": "n_elements", "bucket": "next_pow2"}],
    parameters=[tensor("x_ptr", "float32", ["n_elements"]), tensor("y_ptr", "float32", ["n_elements"]),
                tensor("output_ptr", "float32", ["n_elements"], "out"), dim("n_elements")],
    axes={"BLOCK_SIZE": [1024]}, grid={"pattern": "one_d", "tiles": [["n_elements", {"axis": "BLOCK_SIZE"}]]})
