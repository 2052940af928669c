"""What a kernel takes as compile-time constants beside its axes."""
import dataclasses
import itertools
from types import FunctionType
from typing import Any, Callable, Dict, List, Sequence, Union

from tuneonce.export.declaration_error import DeclarationError


def _itself(extent: int) -> int:
    return extent


@dataclasses.dataclass(frozen=True)
class ConstantOf:
    """A constant that is the extent of a dim, or the value of a declared scalar that the caller passes, or what `of` makes
    of it. The kernel is exported once per value, each as a variant that takes tensors of that extent only. No axis: for each
    extent exactly one value fits, and other extents are refused by name."""
    dim: str
    values: Sequence[int]
    of: Callable[[int], Union[bool, int, float]] = _itself


# A value, an extent, or a function of the config, the other constants and the extents, by name.
Constant = Union[bool, int, float, ConstantOf, Callable[[Dict[str, Any]], Union[bool, int, float]]]


def extents(constants: Dict[str, Constant]) -> List[Dict[str, int]]:
    """Each combination of the extents that are constants, by dim; of none: one that is empty."""
    by_dim: Dict[str, Sequence[int]] = {}
    for name, constant in constants.items():
        if isinstance(constant, ConstantOf):
            values = list(constant.values)
            if not values or any(type(v) is not int or v < 1 for v in values) or len(set(values)) != len(values):
                raise DeclarationError(f"constant '{name}' of the dim '{constant.dim}' needs extents, each once and at least 1; "
                                       f"it has {values}")
            if list(by_dim.setdefault(constant.dim, values)) != values:
                raise DeclarationError(f"constant '{name}' has other extents of the dim '{constant.dim}' than one before it")
    return [dict(zip(by_dim, values)) for values in itertools.product(*by_dim.values())]


def values_at(constants: Dict[str, Constant], config: Dict[str, Any], of_dims: Dict[str, int]) -> Dict[str, Any]:
    """Name to value, of the config's structural values and all constants. Later functions see earlier ones' values."""
    values = {**of_dims, **config}
    for name, constant in constants.items():
        if isinstance(constant, ConstantOf):
            values[name] = constant.of(of_dims[constant.dim])
        elif not isinstance(constant, FunctionType):
            values[name] = constant
    for name, constant in constants.items():
        if isinstance(constant, FunctionType):
            try:
                values[name] = constant(dict(values))
            except Exception as error:  # The declaration's own code.
                raise DeclarationError(f"the function of constant '{name}' failed at {values}: "
                                       f"{type(error).__name__}: {error}") from None
    return values
