from tuneonce.export import Declaration, dim, scalar, tensor

bundle = Declaration(
    dims=["n_elements"], key=[{"dim": "n_elements", "bucket": "next_pow2"}],
    parameters=[tensor("x_ptr", "float32", ["n_elements"]), tensor("output_ptr", "float32", ["n_elements"], "out"),
                dim("n_elements"), scalar("p", "float32", warmup=0.5), scalar("seed", "int32", warmup=123)],
    axes={"BLOCK_SIZE": [1024]}, grid={"pattern": "one_d", "tiles": [["n_elements", {"axis": "BLOCK_SIZE"}]]})
