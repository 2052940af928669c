"""Kernels whose blocks communicate, or that load and store one tensor: what TileIrEvidence is shown of memory. make.py
writes them."""
import cuda.tile as ct


@ct.kernel
def under_lock(lock, x, y):
    """y[0] += x[i], one block at a time: the others wait in a loop."""
    while ct.atomic_cas(lock, 0, 0, 1, memory_order=ct.MemoryOrder.ACQUIRE) == 1:
        pass
    total = ct.load(y, index=(0,), shape=(128,))
    ct.store(y, index=(0,), tile=total + ct.load(x, index=(ct.bid(0),), shape=(128,)))
    ct.atomic_xchg(lock, 0, 0, memory_order=ct.MemoryOrder.RELEASE)


def last_block_of(order):
    """The block that ends last reads what the others stored. Whether it sees that depends on the memory order."""
    @ct.kernel
    def last_block(count, x, y):
        i = ct.bid(0)
        ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(128,)))
        if ct.atomic_add(count, 0, 1, memory_order=order) == ct.num_blocks(0) - 1:
            ct.store(y, index=(0,), tile=ct.load(y, index=(0,), shape=(128,)) + ct.load(y, index=(1,), shape=(128,)))
    return last_block


last_block = last_block_of(ct.MemoryOrder.ACQ_REL)
last_block_relaxed = last_block_of(ct.MemoryOrder.RELAXED)


@ct.kernel
def queue(count, x, y):
    """Blocks take tiles from a counter: an order of memory is not needed."""
    i = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    while i < ct.num_blocks(0):
        ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(128,)))
        i = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def queue_in_place(count, x, y):
    """The same in place: no block reads another block's tile."""
    i = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)
    while i < ct.num_blocks(0):
        ct.store(y, index=(i,), tile=ct.load(y, index=(i,), shape=(128,)) * 2.0)
        i = ct.atomic_add(count, 0, 1, memory_order=ct.MemoryOrder.RELAXED)


@ct.kernel
def shift(count, x, y):
    """In place: a tile takes the place of the one before it."""
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(y, index=(i + 1,), shape=(128,)))
