"""TensorDescriptor parameters of Triton kernels. Triton's launches pass a tensor map, the extents (int32) and the strides
(int64) in the place of each; a bundle does the same by a descriptor, derived values and strides."""
import math
from typing import Any, Dict, List, Sequence, Set, Tuple

from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.parameters import DTYPE_BYTES, derived, stride
from tuneonce.export.terms import Term, least

# Where tensor maps begin; for older devices Triton makes pointers of descriptors.
FIRST_WITH_MAPS = 90
SWIZZLES = ("none", "32B", "64B", "128B")  # By CUDA's number.
L2_PROMOTION = "128B"  # What Triton's launches ask for.
ALIGNMENT = 16  # Alignment of a tensor's address and rows, in bytes.
OPERATIONS = {"product": math.prod, "sum": sum, "min": min, "max": max, "ceil_div": lambda v: -(-v[0] // v[1]),
              "floor_div": lambda v: v[0] // v[1]}

# One config's values that its box may name, and the properties of the map from Triton's compiler.
Compiled = Tuple[Dict[str, Any], Dict[str, Any]]


def arguments_of(declaration: Declaration, argument_names: Sequence[str]) -> Dict[str, str]:
    """By a descriptor's name, the kernel's parameter that it is: that of its own name, or else of its tensor's."""
    known = _declared(declaration, argument_names)
    return {p["name"]: p["name"] if p["name"] in known else p["tensor"]
            for p in declaration.parameters if p["kind"] == "descriptor"}


def _declared(declaration: Declaration, argument_names: Sequence[str]) -> Set[str]:
    """The declared names of the kernel's parameters."""
    return set(declared_names(argument_names, list(declaration.by_name())).values())


def names_of(declaration: Declaration, argument_names: Sequence[str]) -> List[str]:
    """Of the declared parameters those that the kernel takes: no tensors that it takes as descriptors."""
    known = _declared(declaration, argument_names)
    arguments = arguments_of(declaration, argument_names)
    described = {p["tensor"] for p in declaration.parameters if p["kind"] == "descriptor"}
    described = {name for name in described if name not in known or name in arguments.values()}
    return [name for name in declaration.names_of("triton", with_dims=True) if name not in described]


def number(term: Term, values: Dict[str, Any]) -> int:
    """The value of a box's term. Errors: KeyError for a name that has none at export."""
    if isinstance(term, str):
        return values[term]
    if isinstance(term, dict):
        (operation, operands), = term.items()
        return values[operands] if operation == "axis" else OPERATIONS[operation]([number(t, values) for t in operands])
    return term


def type_of(parameter: Dict[str, Any], dtype: str, values: Dict[str, Any]) -> str:
    """Triton's name of the parameter's type; `dtype`: of its elements, in Triton's words."""
    try:
        return f"tensordesc<{dtype}[{','.join(str(number(term, values)) for term in parameter['box'])}]>"
    except KeyError as error:
        raise DeclarationError(f"the box of descriptor '{parameter['name']}' names {error}, which is neither an axis nor a constant "
                               "of the kernel") from None


def passed_behind(parameter: Dict[str, Any], declaration: Declaration) -> List[Dict[str, Any]]:
    """What Triton passes behind the map."""
    name, dims = parameter["name"], declaration.by_name()[parameter["tensor"]]["dims"]
    return [*(derived(f"{name}_extent_{d}", dim) for d, dim in enumerate(dims)),
            *(stride(parameter["tensor"], d, "int64", name=f"{name}_stride_{d}") for d in range(len(dims)))]


def assumptions(parameter: Dict[str, Any], declaration: Declaration) -> List[Dict[str, Any]]:
    """What a tensor must be so that there is a map of it."""
    tensor = declaration.by_name()[parameter["tensor"]]
    name, last = tensor["name"], len(tensor["dims"]) - 1
    divisor = ALIGNMENT // DTYPE_BYTES[tensor["dtype"]]
    rows = [{"tensor": name, "dimension": d, "stride_divisible_by": divisor} for d in range(last) if divisor > 1]
    return [{"tensor": name, "aligned": ALIGNMENT}, {"tensor": name, "dimension": last, "stride": 1}, *rows]


def as_compiled(parameter: Dict[str, Any], configs: Sequence[Compiled]) -> Dict[str, Any]:
    """Returns the descriptor for the manifest, which must be that of each config. Raises DeclarationError otherwise."""
    name = parameter["name"]
    swizzles = {SWIZZLES[meta["swizzle"]] for _, meta in configs}
    if len(swizzles) > 1:
        raise DeclarationError(f"descriptor '{name}' is swizzled by {' or '.join(sorted(swizzles))}, as its configs' boxes are "
                               "of several widths: a bundle has one for all of them; list those of one width")
    if any(meta["fp4_padded"] or meta.get("is_im2col") for _, meta in configs):
        raise DeclarationError(f"descriptor '{name}' is of packed fp4 or im2col, which bundles do not have")
    box = [_dimension(term, [(values, meta["block_size"][d]) for values, meta in configs])
           for d, term in enumerate(parameter["box"])]
    if None in box:
        raise DeclarationError(f"Triton cut the box of descriptor '{name}' in dimension {box.index(None)} for each config "
                               "otherwise")
    return {"l2_promotion": L2_PROMOTION, **parameter, "box": box, "swizzle": swizzles.pop()}


def _dimension(term: Term, compiled: Sequence[Tuple[Dict[str, Any], int]]) -> Any:
    """A term that has these values: the declared one, or at most what Triton cut it to, a swizzle's width; else None."""
    most = max(size for _, size in compiled)
    for candidate in (term, least(term, most)):
        if all(number(candidate, values) == size for values, size in compiled):
            return candidate
    return None
