"""The `key` of @triton.autotune in a manifest's words."""
from types import FunctionType
from typing import Any, Dict, List, Sequence, Tuple

from tuneonce.export.constants import ConstantOf
from tuneonce.export.declaration import Declaration
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.terms import names_in


def key_of(names: Sequence[str], arguments: Sequence[str], declaration: Declaration,
           computed: Sequence[str]) -> Tuple[List[Dict[str, Any]], List[str]]:
    """The parts for `names`, which are some of a kernel's parameters, `arguments`; and the names that have no part, as
    no dim or scalar of the declaration decides their values. `computed`: the parameters whose values heuristics
    compute."""
    parts: List[Dict[str, Any]] = []
    dropped = []
    for name in names:
        deciding = _deciding(name, arguments, declaration, computed)
        new = [{"dim": n} if n in declaration.dims else {"value_of": n} for n in deciding]
        parts += [part for part in new if part not in parts]
        if not new:
            dropped.append(name)
    return parts, dropped


def substitutes_for(dropped: Sequence[str], parts: Sequence[Dict[str, Any]], declaration: Declaration) -> List[Dict[str, Any]]:
    """Parts in place of the names that have none, where one of them is a constant that the caller computes, such as a bucket
    of M: it may stand for any dim that varies and is in no other part. No parts where there is no other one, since all dims
    are the key then."""
    if not parts or not any(type(declaration.constants.get(name)) is int for name in dropped):
        return []
    has = {c.dim for c in declaration.constants.values() if isinstance(c, ConstantOf)} | {part.get("dim") for part in parts}
    return [{"dim": d, "bucket": "next_pow2"} for d in declaration.dims if d not in has]


def _deciding(name: str, arguments: Sequence[str], declaration: Declaration, computed: Sequence[str]) -> List[str]:
    """The dims and scalars that decide the value of the kernel's parameter `name` at a launch."""
    constant = declaration.constants.get(name)
    if isinstance(constant, ConstantOf):
        return [constant.dim]
    if isinstance(constant, FunctionType) or (name in computed and constant is None):
        return list(dict.fromkeys(c.dim for c in declaration.constants.values() if isinstance(c, ConstantOf)))
    parameter = declaration.parameters_by_argument(arguments).get(name, {})
    kind = parameter.get("kind")
    if kind == "scalar" and constant is None:
        return [parameter["name"]]
    if kind == "derived":
        scalars = [p["name"] for p in declaration.parameters if p["kind"] == "scalar"]
        return [n for n in names_in(parameter["value"]) if n in declaration.dims or n in scalars]
    if kind == "stride":  # The tensor is contiguous.
        inner = declaration.by_name()[parameter["tensor"]]["dims"][parameter["dimension"] + 1:]
        return [n for n in inner if isinstance(n, str)]  # Others are constant extents.
    dim = declared_names(arguments, declaration.dims).get(name)  # A dim, or a constant that is called as one.
    return [] if dim is None or kind == "tensor" else [dim]
