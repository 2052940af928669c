"""Kernels for programmatic dependent launch, which bytecode has from version 13.4 on. make.py writes them."""
import cuda.tile as ct


@ct.kernel
def dependent(x, y):
    """y = x + 1, where the kernel before it on the stream may still write x. The kernel behind it may begin at once."""
    ct.grid_dependency_control_launch_dependents()
    ct.grid_dependency_control_wait()
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(1024,)) + 1)


@ct.kernel
def forgetful(x, y):
    """The same without the wait."""
    ct.grid_dependency_control_launch_dependents()
    i = ct.bid(0)
    ct.store(y, index=(i,), tile=ct.load(x, index=(i,), shape=(1024,)) + 1)
