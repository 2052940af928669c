from tuneonce.export import Declaration, tensor

bundle = Declaration(
    dims=["M", "N", "K"],
    parameters=[tensor("As", "float16", ["M", "K"]), tensor("Bs", "float16", ["K", "N"]),
                tensor("Cs", "float16", ["M", "N"], "out")],
    constants={"NUM_SM": 132, "TRANSPOSE_B": False},
    configs=[dict(TILE_M=128, TILE_N=128, TILE_K=128, num_ctas=1, occupancy=1)],
    grid={"pattern": "fixed", "blocks": [132]})
