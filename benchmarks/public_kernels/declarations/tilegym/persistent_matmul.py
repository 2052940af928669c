from tuneonce.export import Declaration, dim, tensor

TILES = ((128, 512, 64, 4, -1), (256, 256, 64, 2, -1), (256, 512, 64, 2, -1), (256, 256, 64, 2, 4), (256, 256, 64, 1, -1),
         (256, 256, 128, 2, -1), (256, 128, 32, 2, -1), (128, 128, 64, 1, -1))
CONFIGS = [dict(TILE_SIZE_M=m, TILE_SIZE_N=n, TILE_SIZE_K=k, GROUP_SIZE_M=8, LOAD_LATENCY=l, num_ctas=ctas, occupancy=1)
           for m, n, k, ctas, l in TILES]
bundle = Declaration(
    dims=[*"MNK"], constants={"TRANSPOSE_A": False, "TRANSPOSE_B": False}, configs=CONFIGS, baseline=CONFIGS[-1],
    parameters=[tensor("A", "float16", [*"MK"]), tensor("B", "float16", [*"KN"]), tensor("C", "float16", [*"MN"], "out"),
                *map(dim, "MNK")], divisible={"M": 16, "N": 16, "K": 16},
    grid={"pattern": "persistent_tiles", "tiles": [["M", {"axis": "TILE_SIZE_M"}], ["N", {"axis": "TILE_SIZE_N"}]],
          "num_ctas": {"axis": "num_ctas"}, "occupancy": 1})
