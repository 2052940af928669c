"""Configs as lists, as kernels' own tuners have them: hints coupled with tiles."""
from typing import Any, Dict, Iterable, List, Sequence

from tuneonce.export.declaration_error import DeclarationError

# The names that are compiler hints wherever they occur; all else is structural.
HINTS = ("occupancy", "num_ctas", "num_worker_warps", "num_warps", "num_stages", "maxnreg")
# The value of a hint that is not set, which is None in the manifest.
NOT_SET = 0


def hint_value(name: str, value: Any) -> int:
    """The manifest's value of a hint; None is one that is not set."""
    if value is None:
        return NOT_SET
    if type(value) is int:
        return value
    if hasattr(value, "_by_target"):
        raise DeclarationError(f"hint '{name}' is {value!r}: a config has one value for all targets. Leave '{name}' out of the "
                               "configs (the hints that the kernel itself has stay in its code, by target), or list the numbers")
    raise DeclarationError(f"hint '{name}' is {value!r}; a hint is a whole number, or None where it is not set")


def plain(configs: Iterable[Any]) -> List[Dict[str, Any]]:
    """Of dicts, or of objects with the values as attributes (SimpleNamespace, a dataclass): dicts. A config that occurs
    twice counts once."""
    result: List[Dict[str, Any]] = []
    for each in configs:
        if not isinstance(each, dict) and not hasattr(each, "__dict__"):
            raise DeclarationError(f"config {each!r} is neither a dict nor an object with a value per axis")
        config = dict(each if isinstance(each, dict) else vars(each))
        config = {n: hint_value(n, v) if n in HINTS else v for n, v in config.items()}
        if config not in result:
            result.append(config)
    if not result:
        raise DeclarationError("configs is an empty list")
    return result


def axes_of(configs: Sequence[Dict[str, Any]], hints: bool) -> Dict[str, List[Any]]:
    """The hint axes, or the structural ones, that `configs` have: names and values in order of appearance."""
    axes: Dict[str, List[Any]] = {}
    for config in configs:
        for name, value in config.items():
            if (name in HINTS) == hints and value not in axes.setdefault(name, []):
                axes[name].append(value)
    return axes


def check_complete(configs: Sequence[Dict[str, Any]], axes: Dict[str, Sequence[Any]]) -> None:
    """Raises DeclarationError for a config that lacks an axis, or has a value that its axis has not."""
    for config in configs:
        for name, value in config.items():
            if name not in axes:
                raise DeclarationError(f"config {config} names '{name}', which is not an axis; the axes are: {', '.join(axes)}")
            if not any(value == v and type(value) is type(v) for v in axes[name]):
                raise DeclarationError(f"config {config}: axis '{name}' has the values {list(axes[name])}, not {value!r}")
        missing = [name for name in axes if name not in config]
        if missing:
            raise DeclarationError(f"config {config} has no value for axis '{missing[0]}'")
