"""z = x + y, BLOCK elements per block."""
import cuda.tile as ct
from tuneonce.export import Declaration, dim, tensors


@ct.kernel
def vector_add(x, y, z, BLOCK: ct.Constant[int]):
    block = ct.bid(0)
    total = ct.load(x, index=(block,), shape=(BLOCK,)) + ct.load(y, index=(block,), shape=(BLOCK,))
    ct.store(z, index=(block,), tile=total)


def config(backend, BLOCK, UNROLL):
    return {"backend": backend, "BLOCK": BLOCK, "UNROLL": UNROLL}


vector_add_bundle = Declaration(
    version="2", dims=["N"],
    parameters=[*tensors("x y", "float32", ["N"]), *tensors("z", "float32", ["N"], "out"), dim("N", "int64")],
    key=[{"dim": "N", "bucket": "next_pow2"}],
    configs=[*(config("tile", block, 1) for block in (1024, 2048, 4096, 8192)),
             *(config("cuda", block, unroll) for block in (1024, 8192, 65536) for unroll in (1, 4))],
    baseline=config("tile", 1024, 1),
    where=['backend != "cuda" || device.capability > 0'],
    grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]},
    cpu="vector_add.cpu.cc", work={"bytes": [[12, "N"]], "operations": [[1, "N"]]},
    example={"dims": {"N": 4194304}})
