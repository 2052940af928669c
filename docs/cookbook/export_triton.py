# Exports a Triton kernel as a bundle, which C++ and Python launch without Triton. No GPU is needed to export:
#   python3 export_triton.py [FOLDER]
import subprocess
import sys

try:
    import triton
    import triton.language as tl
except ImportError:
    sys.exit(print("SKIPPED: there is no triton (pip install triton)") or 77)
import tuneonce
from tuneonce.export import Declaration, dim, scalar, tensor


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (256, 1024) for w in (2, 4)], key=["N"])
@triton.jit
def scale(x, y, factor, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < N) * factor, mask=at < N)


scale_bundle = Declaration(
    dims=["N"],
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"),
                scalar("factor", "float32", warmup=2.0), dim("N")],
    key=[{"dim": "N", "bucket": "next_pow2"}],
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]})

if __name__ == "__main__":
    folder = sys.argv[1] if len(sys.argv) > 1 else "./scale_triton"
    # A kernel in a package: "package.module:kernel", with --declaration and a file of yours.
    subprocess.run([sys.executable, "-m", "tuneonce.export", "triton", __file__ + ":scale", "-o", folder], check=True)
    bundle = tuneonce.Bundle(folder)
    bundle.check()
    assert bundle.variants == ["triton_sm90", "triton_sm90_any"], bundle.variants  # For aligned arguments, and for any.
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
