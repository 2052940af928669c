"""Lacks the kernel's last scalar."""
from tuneonce.export import Declaration, tensor

# Comments, empty lines, imports and the text above do not count.

bundle = Declaration(
    dims=["N"],
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out")],
    axes={"TILE": [256, 1024]}, baseline={"TILE": 256}, key=[{"dim": "N", "bucket": "next_pow2"}],
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]})
