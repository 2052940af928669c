"""Whole numbers of a manifest that follow from dims, scalars and axes: terms (docs/internal/manifest.md)."""
from typing import Any, Dict, List, Union

# A whole number: 4, or the name of a dim, a scalar or an axis, or what the functions below make.
Term = Union[int, str, Dict[str, Any], List[Any]]


def ceil_div(a: Term, b: Term) -> Term:
    return {"ceil_div": [a, b]}


def floor_div(a: Term, b: Term) -> Term:
    return {"floor_div": [a, b]}


def add(*terms: Term) -> Term:
    return {"sum": list(terms)}


def product(*terms: Term) -> Term:
    return {"product": list(terms)}


def least(*terms: Term) -> Term:
    return {"min": list(terms)}


def greatest(*terms: Term) -> Term:
    return {"max": list(terms)}


def num_sms() -> Term:
    """Multiprocessors of the device that is launched on."""
    return {"device": "num_sms"}


def blocks(*terms: Term) -> Dict[str, Any]:
    """The grid of as many blocks as one to three terms say: blocks(product(ceil_div("M", "TM"), ceil_div("N", "TN")))."""
    return {"pattern": "fixed", "blocks": list(terms)}


def is_multiple(term: Term, divisor: int) -> bool:
    """Whether it can be seen that `divisor` divides a term."""
    if isinstance(term, int):
        return term % divisor == 0
    return isinstance(term, dict) and any(is_multiple(factor, divisor) for factor in term.get("product", ()))


def names_in(term: Term) -> List[str]:
    """The names of dims, scalars and axes that a term has, each once, in order."""
    if isinstance(term, str):
        return [term]
    if isinstance(term, dict):
        return [] if "device" in term else names_in(list(term.values()))
    return list(dict.fromkeys(n for each in term for n in names_in(each))) if isinstance(term, list) else []
