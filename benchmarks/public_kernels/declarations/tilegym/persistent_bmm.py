from tuneonce.export import ConstantOf, Declaration, dim, tensor

bundle = Declaration(
    dims=["Batch", "M", "N", "K"],
    parameters=[tensor("A", "float16", ["Batch", "M", "K"]), tensor("B", "float16", ["Batch", "K", "N"]),
                tensor("C", "float16", ["Batch", "M", "N"], "out"), dim("Batch")],
    constants={"M": ConstantOf("M", [512, 2048]), "N": ConstantOf("N", [512, 2048]), "K": ConstantOf("K", [512]),
               "GROUP_SIZE_M": 8, "LATENCY": 3, "TRANSPOSE_A": False, "TRANSPOSE_B": False},
    axes={"TILE_M": [64, 128, 256], "TILE_N": [64, 128, 256], "TILE_K": [64]}, hint_axes={"occupancy": [1, 2], "num_ctas": [2]},
    baseline={"TILE_M": 128, "TILE_N": 128, "TILE_K": 64, "occupancy": 1, "num_ctas": 2},
    grid={"pattern": "persistent_tiles", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}], ["Batch", 1]],
          "num_ctas": 2, "occupancy": {"axis": "occupancy"}})
