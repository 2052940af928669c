"""z = x + y for cuTile, but for one candidate: FAULT 2 never ends (x is below 2), 3 writes nothing."""

import cuda.tile as ct


@ct.kernel
def vector_add(x, y, z, BLOCK: ct.Constant[int], FAULT: ct.Constant[int]):
    block = ct.bid(0)
    a = ct.load(x, index=(block,), shape=(BLOCK,))
    if FAULT == 2:
        while ct.max(a) < 2.0:
            a = ct.load(x, index=(block,), shape=(BLOCK,))
    if FAULT != 3:
        ct.store(z, index=(block,), tile=a + ct.load(y, index=(block,), shape=(BLOCK,)))
