# Exports a cuTile kernel as a bundle, which C++ and Python launch without cuTile. No GPU is needed to export:
#   python3 export_cutile.py [FOLDER]
import subprocess
import sys

try:
    import cuda.tile as ct
except ImportError:
    sys.exit(print("SKIPPED: there is no cuda.tile (pip install cuda-tile)") or 77)
import tuneonce
from tuneonce.export import Declaration, scalar, tensor


@ct.kernel
def scale(x, y, factor: float, TILE: ct.Constant[int]):
    at = ct.bid(0)
    ct.store(y, index=(at,), tile=ct.load(x, index=(at,), shape=(TILE,)) * factor)


scale_bundle = Declaration(
    dims=["N"],
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"),
                scalar("factor", "float32", warmup=2.0)],
    key=[{"dim": "N", "bucket": "next_pow2"}],
    axes={"TILE": [256, 1024, 4096]}, hint_axes={"occupancy": [1, 2]}, baseline={"TILE": 1024, "occupancy": 1},
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "TILE"}]]})

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "./scale_cutile"
    # A kernel in a package: "package.module:kernel", with --declaration and a file of yours.
    subprocess.run([sys.executable, "-m", "tuneonce.export", "cutile", __file__ + ":scale", "-o", folder], check=True)
    bundle = tuneonce.Bundle(folder)
    bundle.check()
    assert bundle.variants == ["tile"], bundle.variants
    try:
        import torch
        x = torch.rand(1000, device="cuda")
    except Exception as error:  # There is no torch, or no GPU.
        sys.exit(print("OK: exported, and not run:", str(error).splitlines()[0]))
    y = torch.empty_like(x)
    kernel = tuneonce.load(folder)
    kernel(x, y, 3.0)  # Tunes.
    assert torch.equal(y, x * 3.0)
    print("OK:", kernel.explain(x, y, 3.0).config)
