from tuneonce.export import Declaration, dim, tensor

TILES = ((128, 512, 64, 4, -1), (256, 256, 64, 2, -1), (256, 512, 64, 2, -1), (256, 256, 64, 2, 4), (256, 256, 64, 1, -1),
         (256, 256, 128, 2, -1), (256, 128, 32, 2, -1), (128, 128, 64, 1, -1))

bundle = Declaration(dims=["M", "N", "K"], constants={"TRANSPOSE_A": False, "TRANSPOSE_B": False}, divisible={"M": 16, "N": 16, "K": 16},
    parameters=[tensor("A", "float16", ["M", "K"]), tensor("B", "float16", ["K", "N"]), tensor("C", "float16", ["M", "N"], "out"),
                *(dim(d) for d in "MNK")],
    configs=[dict(TILE_SIZE_M=m, TILE_SIZE_N=n, TILE_SIZE_K=k, GROUP_SIZE_M=8, LOAD_LATENCY=wait, num_ctas=ctas, occupancy=1)
             for m, n, k, ctas, wait in TILES],
    grid={"pattern": "persistent_tiles", "tiles": [["M", {"axis": "TILE_SIZE_M"}], ["N", {"axis": "TILE_SIZE_N"}]],
          "num_ctas": {"axis": "num_ctas"}, "occupancy": 1},
    baseline=dict(TILE_SIZE_M=128, TILE_SIZE_N=128, TILE_SIZE_K=64, GROUP_SIZE_M=8, LOAD_LATENCY=-1, num_ctas=1, occupancy=1))
