from tuneonce.export import Declaration, dim, scalar, stride, tensor

bundle = Declaration(
    dims=["M", "n_cols"], grid={"pattern": "one_d", "tiles": [["M", 1]]},
    parameters=[tensor("X_ptr", "float16", ["M", "n_cols"], "inout"), stride("X_ptr", 0, name="X_stride"),
                tensor("Y_ptr", "int64", ["M"], warmup=0), stride("Y_ptr", 0, name="Y_stride"),
                tensor("loss_ptr", "float32", ["M"], "out"), stride("loss_ptr", 0, name="loss_stride"), dim("n_cols"),
                scalar("n_non_ignore", "int32", warmup="M"), scalar("ignore_index", "int32", warmup=-100)],
    constants={**dict.fromkeys(("weight_ptr", "z_loss_ptr", "token_accuracy_ptr", "predicted_tokens_ptr", "softcap")),
               **dict.fromkeys(("RETURN_Z_LOSS", "RETURN_TOKEN_ACCURACY", "RETURN_PREDICTED_TOKENS", "HAS_WEIGHT", "HAS_SOFTCAPPING"), False),
               **dict.fromkeys(("token_accuracy_stride", "predicted_tokens_stride", "sum_non_ignore_weight"), 0), "weight_sum": 0.0,
               "lse_square_scale": 0.0, "label_smoothing": 0.0, "reduction": "mean", "HAS_GRADIENTS": True, "BLOCK_SIZE": 32768, "num_warps": 32})
