"""Which arrays the code of a cuTile kernel reads and writes, as cuTile's IR says."""
from typing import Any, Dict, Iterator, Optional, Sequence, Set

from tuneonce.live.usage import Usage

# The operands of operations on memory that are addresses.
_ADDRESSES = ("view", "pointer")
_ATOMIC = "tile_atomic"
_READING = ("tile_load", "load_pointer")
_WRITING = ("tile_store", "store_pointer")


def array_usage(block: Any, owners: Dict[str, str], names: Sequence[str]) -> Usage:
    """`block`: the kernel's IR after cuTile's passes. `owners`: by variable of the IR, the parameter of the call whose address it is.
    `names`: all parameters that are arrays, which count as read and written if an address cannot be traced to some of them."""
    definitions = {variable.name: operation for operation in block.traverse() for variable in operation.result_vars}
    read: Set[str] = set()
    written: Set[str] = set()
    is_unordered = False
    for operation in block.traverse():
        address = next((operation.operands[n] for n in _ADDRESSES if n in operation.operands), None)
        is_atomic = operation.op.startswith(_ATOMIC)
        if address is None or not (is_atomic or operation.op in _READING + _WRITING):
            if _may_access(operation):
                return Usage(set(names), set(names), True)
            continue
        roots = _roots(address, definitions, owners)
        if roots is None:
            return Usage(set(names), set(names), True)
        read |= roots if operation.op not in _WRITING else set()
        written |= roots if operation.op not in _READING else set()
        is_unordered = is_unordered or is_atomic
    return Usage(read, written, is_unordered)


def _may_access(operation: Any) -> bool:
    """Whether an operation that is not known here is given an address, and may use it."""
    return operation.memory_effect.name != "NONE" and any(map(_is_address, _inputs(operation)))


def _inputs(operation: Any) -> Iterator[Any]:
    for operand in operation.operands.values():
        yield from (operand if isinstance(operand, tuple) else (operand,) if operand is not None else ())


def _is_address(variable: Any) -> bool:
    kind = variable.get_type()
    return "View" in type(kind).__name__ or type(kind).__name__ in ("ArrayTy", "ListTy") or "pointer[" in str(kind)


def _roots(address: Any, definitions: Dict[str, Any], owners: Dict[str, str]) -> Optional[Set[str]]:
    """The parameters that an address may be of; None if it cannot be traced."""
    found: Set[str] = set()
    waiting, seen = [address], {address.name}
    while waiting:
        variable = waiting.pop()
        if variable.name in owners:
            found.add(owners[variable.name])
            continue
        operation = definitions.get(variable.name)
        if operation is None or operation.nested_blocks or operation.op in _READING:
            return None
        following = [each for each in _inputs(operation) if _is_address(each)]
        if not following:
            return None
        waiting += [each for each in following if each.name not in seen]
        seen |= {each.name for each in following}
    return found
