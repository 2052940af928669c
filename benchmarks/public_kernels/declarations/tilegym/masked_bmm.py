from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["Q", "M", "N", "K"],
    parameters=[tensor("a", "float16", ["Q", "M", "K"]), tensor("b", "float16", ["Q", "K", "N"]),
                tensor("c", "float16", ["Q", "M", "N"], "out", may_be_partial=True),
                tensor("masked_m", "int32", ["Q"], warmup="M")],
    constants={"TRANSPOSE_A": 0, "TRANSPOSE_B": 0, "BLOCK_M": 128, "BLOCK_K": 64, "GROUP_SIZE_M": 8},
    axes={"BLOCK_N": [128, 256]}, hint_axes={"num_ctas": [1, 2], "occupancy": [1, 2, 4]},
    baseline={"BLOCK_N": 128, "num_ctas": 1, "occupancy": 1},
    grid={"pattern": "persistent_tiles", "tiles": [["M", 128], ["N", {"axis": "BLOCK_N"}], ["Q", 1]],
          "num_ctas": {"axis": "num_ctas"}, "occupancy": {"axis": "occupancy"}}, divisible={"M": 16, "N": 16, "K": 16})
