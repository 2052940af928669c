"""What can be wrong with a declaration before its kernel is looked at."""
from typing import Any, Dict, Iterable

from tuneonce.export import config_list, constants, dtype_set
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.parameters import DTYPE_BYTES

# Default limit of a search space's configs, as SearchSpace::kDefaultMaxConfigs.
DEFAULT_MAX_CONFIGS = 30


def check_declaration(declaration: Any) -> None:
    """Raises DeclarationError naming the first thing that is wrong."""
    _check_dims(declaration)
    _check_constants(declaration)
    _check_size(declaration)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _check_dims(declaration: Any) -> None:
    if isinstance(declaration.dims, str):
        raise DeclarationError(f"dims is a list of names: [\"{declaration.dims}\"]")
    bound = set()
    for parameter in declaration.parameters:
        if not isinstance(parameter, dict) or "kind" not in parameter:
            raise DeclarationError(f"parameters has {parameter!r}: tensor(...), scalar(...), dim(...) and stride(...) make one")
        dims = parameter.get("dims", [parameter["dim"]] if parameter["kind"] == "dim" else [])
        for extent in (dim for dim in dims if not isinstance(dim, str)):
            if type(extent) is not int or extent < 1:
                raise DeclarationError(f"parameter '{parameter.get('name')}' has the extent {extent}: give the name of a dim, or a "
                                       "whole number from 1 on")
        dims = [dim for dim in dims if isinstance(dim, str)]
        for dim in dims:
            if dim not in declaration.dims:
                raise DeclarationError(f"parameter '{parameter.get('name', dim)}' has the dim '{dim}', which is not one of dims: "
                                       f"{_listed(declaration.dims)}")
        bound.update(dims if parameter["kind"] == "tensor" else ())
    _check_dtypes(declaration)
    names = [p.get("name", p.get("dim")) for p in declaration.parameters]
    for name in names:
        if names.count(name) > 1:
            raise DeclarationError(f"the parameter '{name}' is declared twice")
    for dim in declaration.dims:
        if dim not in bound:
            raise DeclarationError(f"no tensor has the dim '{dim}': nothing would say its extent")
    for dim in declaration.divisible:
        if dim not in declaration.dims and not any(p["kind"] == "scalar" and p["name"] == dim for p in declaration.parameters):
            raise DeclarationError(f"divisible names '{dim}', which is not a dim; the dims are: {_listed(declaration.dims)}")
    innermost = {p["dims"][-1] for p in declaration.tensors() if len(p["dims"]) > 1 and isinstance(p["dims"][-1], str)}
    for group in declaration.unaligned:
        unknown = [dim for dim in group if dim not in innermost]
        if isinstance(group, str) or unknown or not group:
            raise DeclarationError(f"unaligned has {group!r}: it is a list of lists of dims along which tensors have rows; there are: "
                                   f"{_listed(sorted(innermost))}")
    tensors = [p["name"] for p in declaration.tensors()]
    for name in declaration.alignments:
        if name not in tensors:
            raise DeclarationError(f"alignments names '{name}', which is not a tensor; the tensors are: {_listed(tensors)}")
    for group in declaration.alias_groups:
        unknown = [name for name in group if name not in tensors]
        if unknown or len(group) < 2:
            raise DeclarationError(f"the alias group {list(group)} is not two or more tensors; there are: {_listed(tensors)}")


def _check_dtypes(declaration: Any) -> None:
    dtype_set.check(declaration, list(DTYPE_BYTES))
    for parameter in declaration.parameters:
        if str(parameter.get("dtype")).startswith("float8_e8m0"):
            raise DeclarationError(f"parameter '{parameter.get('name')}' has the dtype '{parameter['dtype']}', of which tuneonce "
                                   "cannot compare results: for Triton, which takes such scales as their bits, declare it as uint8")
        if parameter["kind"] != "descriptor" and parameter.get("dtype") not in DTYPE_BYTES:
            raise DeclarationError(f"parameter '{parameter.get('name', parameter.get('dim'))}' has the dtype "
                                   f"'{parameter.get('dtype')}'; dtypes are called {_listed(DTYPE_BYTES)}")


def check_axes(declaration: Any) -> None:
    """Raises DeclarationError for axes that are not lists of values, and for configs with other values."""
    axes = {**declaration.axes, **declaration.hint_axes, **declaration.option_axes}
    for name, values in axes.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise DeclarationError(f"axis '{name}' has {values!r}; a list of values is expected, and a constant is not an axis: "
                                   f"constants={{'{name}': {values!r}}}")
        if any(v is None for v in values):
            raise DeclarationError(f"axis '{name}' has the value None; only a hint can be not set")
    if declaration.configs is not None:
        named = [n for n in declaration.option_axes if n in declaration.configs[0]]
        hints = declaration.hint_axes if _has_hints(declaration) else {}
        config_list.check_complete(declaration.configs, {**declaration.axes, **hints, **{n: axes[n] for n in named}})
    for config in declaration.single_configs():
        for name in axes:
            if name not in config:
                raise DeclarationError(f"the baseline or fallback {config} has no value for axis '{name}'")


def _has_hints(declaration: Any) -> bool:
    return any(name in declaration.hint_axes for name in declaration.configs[0])


def _check_constants(declaration: Any) -> None:
    for name, constant in declaration.constants.items():
        if name in declaration.axes:
            raise DeclarationError(f"'{name}' is an axis and a constant; it is one of them")
        scalars = [p["name"] for p in declaration.parameters if p["kind"] == "scalar"]
        if isinstance(constant, constants.ConstantOf) and constant.dim not in [*declaration.dims, *scalars]:
            raise DeclarationError(f"constant '{name}' is the extent of '{constant.dim}', which is not a dim or scalar; those are: "
                                   f"{_listed([*declaration.dims, *scalars])}")
        if isinstance(constant, (list, dict)):
            raise DeclarationError(f"constant '{name}' is {constant!r}: a constant has one value; an axis has several")
    constants.extents(declaration.constants)


def _check_size(declaration: Any) -> None:
    if declaration.space is not None:
        return  # Of which there are several lists, one per target: the library counts them when it reads the manifest.
    count = len(declaration.all_configs())
    most = declaration.max_configs or DEFAULT_MAX_CONFIGS
    if count > most:
        raise DeclarationError(f"it has {count} configs, and {most} are allowed: list the good ones in configs, or say "
                               f"max_configs={count} (each costs compile and GPU time at every new shape)")


def check_grid(grid: Dict[str, Any]) -> None:
    """Raises DeclarationError for a field that the grid's pattern does not use: it would be dropped."""
    try:
        from tuneonce import _tuneonce
    except ImportError:  # A source tree that is not built: the library says it when it loads the bundle.
        return
    try:
        _tuneonce._check_grid(grid.get("pattern", ""), list(grid), len(grid.get("tiles", ())))  # The manifest's rule.
    except ValueError as error:
        raise DeclarationError(str(error)) from None
