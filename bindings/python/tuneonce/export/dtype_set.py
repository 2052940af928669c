"""Tensors that have one of several dtypes, all of them the same (Declaration.dtypes)."""
import dataclasses
from typing import Any, Dict, List, Optional, Tuple

from tuneonce.export.declaration_error import DeclarationError


def _is_open(declaration: Any, parameter: Dict[str, Any]) -> bool:
    return bool(declaration.dtypes) and parameter["kind"] == "tensor" and parameter["dtype"] == declaration.dtypes[0]


def check(declaration: Any, known: List[str]) -> None:
    """Raises DeclarationError unless `dtypes` is a list of several that are `known`, the first of which tensors have."""
    dtypes = declaration.dtypes
    if isinstance(dtypes, str) or len(set(dtypes)) != len(dtypes) or len(dtypes) == 1:
        raise DeclarationError(f"dtypes is {dtypes!r}: it lists several dtypes, each once")
    for dtype in dtypes:
        if dtype not in known:
            raise DeclarationError(f"dtypes has '{dtype}'; dtypes are called {', '.join(known)}")
    if dtypes and not any(_is_open(declaration, p) for p in declaration.parameters):
        raise DeclarationError(f"dtypes begins with '{dtypes[0]}', which no tensor is declared with: declare those that may have any "
                               "of them with the first")


def leader(declaration: Any) -> str:
    """The tensor that says the dtype of the others."""
    return str(next(p["name"] for p in declaration.parameters if _is_open(declaration, p)))


def each(declaration: Any) -> List[Tuple[Any, str]]:
    """The declaration for each of its dtypes, with what is put behind a variant's name: the dtype, of all but the first."""
    if not declaration.dtypes:
        return [(declaration, "")]
    shown_by = leader(declaration)
    result = []
    for dtype in declaration.dtypes:
        parameters = [{**p, "dtype": dtype} if _is_open(declaration, p) else p for p in declaration.parameters]
        of_one = dataclasses.replace(declaration, parameters=parameters, dtypes=(), of_dtype=(shown_by, dtype))
        result.append((of_one, "" if dtype == declaration.dtypes[0] else dtype))
    return result


def open_parameters(declaration: Any) -> List[Dict[str, Any]]:
    """The parameters as a manifest has them: the leader of any dtype, the others of its."""
    if not declaration.dtypes:
        return list(declaration.parameters)
    first = leader(declaration)

    def opened(parameter: Dict[str, Any]) -> Dict[str, Any]:
        if not _is_open(declaration, parameter):
            return parameter
        rest = {n: v for n, v in parameter.items() if n != "dtype"}
        return rest if parameter["name"] == first else {**rest, "same_dtype_as": first}
    return [opened(p) for p in declaration.parameters]


def example(declaration: Any) -> Optional[Dict[str, Any]]:
    """The declaration's, which is of the first dtype unless it says another."""
    if not declaration.dtypes or declaration.example is None:
        return dict(declaration.example) if declaration.example is not None else None
    dtypes = {leader(declaration): declaration.dtypes[0], **declaration.example.get("dtypes", {})}
    return {**declaration.example, "dtypes": dtypes}
