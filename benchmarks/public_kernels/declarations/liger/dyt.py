from tuneonce.export import ConstantOf, Declaration, tensor

bundle = Declaration(
    dims=["M", "D", "ONE"], grid={"pattern": "tile_coverage", "tiles": [["D", {"axis": "BLOCK_N"}], ["M", 1]]},
    parameters=[tensor("X", "float16", ["M", "D"]), tensor("Y", "float16", ["M", "D"], "out"),
                tensor("Alpha", "float16", ["ONE"]),
                tensor("Gamma", "float16", ["D"]), tensor("Beta", "float16", ["D"])],
    constants={"HAVE_BETA": True, "N": ConstantOf("D", [4096])})
