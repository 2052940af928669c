"""The space of a family of kernels, as a declaration names it."""
from typing import Any, Dict, List

from tuneonce.export.declaration_error import DeclarationError


def configs_of(family: str) -> List[Dict[str, Any]]:
    """The family's configs on all known targets, each once."""
    from tuneonce import families
    try:
        shown = families.show(family)
    except ImportError:
        raise DeclarationError(f"the space '{family}' is known to tuneonce's C++ part alone, which is not built") from None
    except ValueError as error:
        raise DeclarationError(str(error)) from None
    configs: List[Dict[str, Any]] = []
    for target in shown["targets"]:
        configs += [config for config in target.get("configs", []) if config not in configs]
    return configs
