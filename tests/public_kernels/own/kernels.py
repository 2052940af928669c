"""The package's only kernel. The test puts it where a package would be."""
import cuda.tile as ct


@ct.kernel
def scale(x, y, factor: float, TILE: ct.Constant[int]):
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(TILE,)) * factor)
