from tuneonce.export import ConstantOf, Declaration, dim, tensor

bundle = Declaration(
    dims=["M", "N"], grid={"pattern": "one_d", "tiles": [["M", 1]]}, constants={"N": ConstantOf("N", [4096])},
    parameters=[tensor("output_ptr", "float16", ["M", "N"], "out"), tensor("input_ptr", "float16", ["M", "N"]),
                dim("M")])
