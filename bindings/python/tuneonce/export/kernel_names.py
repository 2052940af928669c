"""Which declared parameter a kernel's own parameter is."""
from typing import Dict, Sequence


def declared_names(arguments: Sequence[str], declared: Sequence[str]) -> Dict[str, str]:
    """By the name of a kernel's parameter, the name under which it is declared: the same, or else one that differs in
    case only and is no other parameter's own. So a kernel's `n` may be the dim `N`, and the tensor `k` is not the
    constant `K`."""
    result = {name: name for name in arguments if name in declared}
    others = {name.lower(): name for name in declared if name not in result}
    result.update({name: others[name.lower()] for name in arguments if name not in result and name.lower() in others})
    return result
