"""Tensors that a kernel reaches through a table of their addresses in device memory."""
from typing import Any, NamedTuple, Sequence


class PointerTable(NamedTuple):
    """What a call passes for a parameter that is by pointers: a table of addresses, and the tensors that lie there.

        c = tuneonce.PointerTable.of([c0, c1, c2])
        kernel(a, b, rows, c)

    `table` is a dense int64 tensor on the GPU, the i-th element the address of `tensors[i]`; on the CPU device, where
    arrays are copied for each call, it is not looked at and may be None. The kernel gets the table; the tensors are what
    a search copies, protects and compares. A call reads all of them: some 100 ns each."""
    table: Any
    tensors: Sequence[Any]

    @staticmethod
    def of(tensors: Sequence[Any]) -> "PointerTable":
        """A table of tensors of torch's, made on their device: keep it, as making it is a copy to the GPU. Of other
        arrays, for the CPU device, there is none."""
        tensors = list(tensors)
        if not tensors or not getattr(tensors[0], "is_cuda", False):
            return PointerTable(None, tensors)
        import torch
        addresses = [tensor.data_ptr() for tensor in tensors]
        return PointerTable(torch.tensor(addresses, dtype=torch.int64, device=tensors[0].device), tensors)
