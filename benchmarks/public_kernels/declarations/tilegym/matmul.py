from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("A", "float16", ["M", "K"]), tensor("B", "float16", ["K", "N"]),
                tensor("C", "float16", ["M", "N"], "out")],
    configs=[dict(TILE_SIZE_M=m, TILE_SIZE_N=n, TILE_SIZE_K=k, num_ctas=ctas, occupancy=1)
             for m, n, k, ctas in ((128, 128, 32, 1), (256, 256, 64, 2), (256, 256, 64, 4), (512, 256, 64, 2))],
    baseline=dict(TILE_SIZE_M=128, TILE_SIZE_N=128, TILE_SIZE_K=32, num_ctas=1, occupancy=1),
    grid={"pattern": "fixed",
          "blocks": [{"product": [{"ceil_div": ["M", "TILE_SIZE_M"]}, {"ceil_div": ["N", "TILE_SIZE_N"]}]}]},
    divisible={"M": 16, "N": 16, "K": 16})
