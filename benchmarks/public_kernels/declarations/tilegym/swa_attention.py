from tuneonce.export import ConstantOf, Declaration, scalar, tensor

bundle = Declaration(
    dims=["T", "D"], key=[{"dim": "T"}, {"value_of": "seq_k"}, {"value_of": "window_size"}],
    parameters=[*(tensor(x, "float16", ["T", "D"]) for x in "QKV"), tensor("Out", "float16", ["T", "D"], "out"),
                scalar("qk_scale", "float32", warmup=0.125),
                *(scalar(x, "int32", warmup=n) for x, n in (("seq_k", 2048), ("window_size", 1024), ("stride_q", 32),
                                                            ("stride_kv", 16)))],
    constants={"TILE_M": 64, "TILE_N": 128, "TILE_D": ConstantOf("D", [64]), "CAUSAL": True},
    grid={"pattern": "fixed", "blocks": [{"floor_div": ["seq_k", 64]}, {"floor_div": ["T", "seq_k"]}]},
    divisible={"T": 16})
