"""How one config's code uses the arguments of a call."""
from typing import Dict, NamedTuple, Sequence, Set


class Usage(NamedTuple):
    """The names of the parameters that are read and written through. `is_unordered`: results may depend on an order, because of
    atomics."""
    read: Set[str]
    written: Set[str]
    is_unordered: bool


def merged(usages: Sequence[Usage]) -> Dict[str, str]:
    """By parameter: "out" or "inout" if any config writes through it."""
    read: Set[str] = set().union(*(usage.read for usage in usages))
    written: Set[str] = set().union(*(usage.written for usage in usages))
    return {name: "inout" if name in read else "out" for name in written}
