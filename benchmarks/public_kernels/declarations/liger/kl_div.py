from tuneonce.export import Declaration, dim, scalar, stride, tensor

dims, rows = ["M", "n_cols"], [stride(f"{t}_ptr", 0, name=f"{t}_stride") for t in ("y", "gt", "loss")]
bundle = Declaration(
    dims=dims, grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("y_ptr", "float32", dims), rows[0], tensor("gt_ptr", "float32", dims), rows[1],
                tensor("loss_ptr", "float32", ["M"], "out"), rows[2], dim("n_cols"),
                scalar("eps", "float32", warmup=1e-10)],
    constants={"BLOCK_SIZE": 4096, "num_warps": 8, "reduction": 3, "log_target": False})
