"""y = gelu(x) * z, BLOCK elements per block: the pattern of all that goes element by element, here a gated activation
(GEGLU: N. Shazeer, arXiv:2002.05202). gelu is the one with tanh (D. Hendrycks, K. Gimpel, arXiv:1606.08415), as
(1 + tanh(u)) / 2 = 1 / (1 + exp(-2 u))."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensors

SLOPE = 1.5957691216057308  # 2 sqrt(2 / pi)
CUBIC = 0.044715


@ct.kernel
def elementwise(x, z, y, BLOCK: ct.Constant[int]):
    block = ct.bid(0)
    gate = ct.astype(ct.load(x, index=(block,), shape=(BLOCK,)), ct.float32)
    factor = ct.astype(ct.load(z, index=(block,), shape=(BLOCK,)), ct.float32)
    gelu = gate / (1.0 + ct.exp(gate * (gate * gate * CUBIC + 1.0) * -SLOPE))
    ct.store(y, index=(block,), tile=ct.astype(gelu * factor, y.dtype))


def config(backend, BLOCK, occupancy=1, num_ctas=1, num_worker_warps=None):
    return {"backend": backend, "BLOCK": BLOCK, "occupancy": occupancy, "num_ctas": num_ctas,
            "num_worker_warps": num_worker_warps}


elementwise_bundle = Declaration(
    dims=["N"], dtypes=["float16", "bfloat16"],
    parameters=[*tensors("x z", "float16", ["N"]), *tensors("y", "float16", ["N"], "out"), dim("N", "int64")],
    key=[{"dim": "N", "bucket": "next_pow2"}],
    configs=[*(config("tile", block) for block in (512, 1024, 2048, 4096, 8192)),
             # Occupancy changes nothing in the code of one block. A cluster of two has fewer threads, with more elements each.
             *(config("tile", block, 1, 2) for block in (1024, 2048, 4096, 8192)),
             config("tile", 2048, 1, 2, 8), config("tile", 4096, 1, 2, 8),
             config("tile", 4096, 16, 2), config("tile", 8192, 16, 2),
             *(config("cuda", block) for block in (2048, 8192, 32768))],
    baseline=config("tile", 1024),
    where=["num_ctas != 2 || device.capability >= 90 && device.capability <= 110",
           'backend != "cuda" || device.capability > 0'],
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]},
    cpu="elementwise.cpu.cc", work={"bytes": [[6, "N"]], "operations": [[8, "N"]]},
    example={"dims": {"N": 16777216}, "cpu_dims": {"N": 1048576}})
