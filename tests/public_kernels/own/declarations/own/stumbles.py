"""Tuned over two tiles; also in C++, for the CPU device."""
from tuneonce.export import Declaration, dim, scalar, tensor

# Comments, empty lines, imports and the text above do not count.

bundle = Declaration(
    dims=["N"], cpu="scale.cpu.cc",
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"),
                scalar("factor", "float32", warmup=2.0), dim("N", "int64")],
    axes={"TILE": [256, 1024]}, baseline={"TILE": 256}, key=[{"dim": "N", "bucket": "next_pow2"}],
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]})
