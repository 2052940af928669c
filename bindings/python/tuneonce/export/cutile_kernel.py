"""A cuTile kernel as the exporter sees it."""
import ast
import inspect
import textwrap
from types import FunctionType
from typing import Any, Dict, List, Sequence

from tuneonce.export.config_list import HINTS
from tuneonce.export.constants import ConstantOf
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.parameters import derived

# The attributes in which wrappers keep the wrapped object.
WRAPPED = ("__wrapped__", "kernel", "_kernel", "fn", "func")
DEEPEST_WRAPPING = 8
CUTILE_HINTS = ("occupancy", "num_ctas", "num_worker_warps")


def unwrapped(found: Any, name: str) -> Any:
    """The cuTile kernel that `found` is or wraps; of a plain function, a kernel."""
    import cuda.tile as ct
    each = found
    for _ in range(DEEPEST_WRAPPING):
        if isinstance(each, ct.kernel):
            return each
        inner = next((getattr(each, a) for a in WRAPPED if getattr(each, a, None) is not None), None)
        if inner is None:
            break
        each = inner
    if isinstance(each, FunctionType):
        return ct.kernel(each)
    raise DeclarationError(f"'{name}' is of the type {type(found).__name__}, and no cuTile kernel: @ct.kernel makes one")


def axes_in(value: Any) -> List[str]:
    """The axes that a part of a manifest names."""
    if isinstance(value, dict):
        return ([value["axis"]] if isinstance(value.get("axis"), str) else []) + axes_in(list(value.values()))
    return [name for each in value for name in axes_in(each)] if isinstance(value, (list, tuple)) else []


def array_parts(workspace: Dict[str, Any]) -> List[Dict[str, Any]]:
    """What an array of cuTile's has beside its address: a workspace's extent and stride."""
    return [derived(f"{workspace['name']}_extent", workspace["elements"]), derived(f"{workspace['name']}_stride", 1)]


class CutileKernel:
    """Names and kinds of its parameters, and what of a declaration they are."""

    def __init__(self, found: Any, name: str) -> None:
        self.name = name
        self.kernel = unwrapped(found, name)
        annotated = self.kernel._annotated_function
        self.function = annotated.pyfunc
        self.names: List[str] = list(annotated.pysig.parameters)
        self.annotations = dict(zip(self.names, annotated.parameter_annotations))

    def constants(self) -> List[str]:
        """The parameters that are annotated as constants."""
        def is_constant(node: Any) -> bool:
            items = getattr(node, "items", None) or ([node.each] if hasattr(node, "each") else [])
            return any(map(is_constant, items)) if items else getattr(node, "constant", False)
        return [n for n in self.names if is_constant(self.annotations[n])]

    def indexed(self) -> List[str]:
        """The parameters that the kernel's body indexes: tuples, or lists of arrays."""
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(self.function)))
        except (OSError, SyntaxError):  # Not from a file; cuTile says what it makes of it.
            return []
        return [n.value.id for n in ast.walk(tree) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)]

    def taken(self, declaration: Declaration) -> List[str]:
        """Names of the declared parameters that the kernel takes, in their order: tensors and scalars, and those dims and
        strides that it has a parameter for."""
        if "tile" in declaration.parameters_of:
            return list(declaration.parameters_of["tile"])
        declared = declared_names(self.names, list(declaration.by_name()))
        own = {declared[n] for n in self.names if n in declared and n not in declaration.constants}
        decide = {c.dim for c in declaration.constants.values() if isinstance(c, ConstantOf)}  # Scalars, too: not passed on.
        names = [(p, p.get("name", p.get("dim"))) for p in declaration.parameters]
        return [n for p, n in names if n in own or (p["kind"] in ("tensor", "scalar") and n not in decide)]

    def passed(self, declaration: Declaration) -> List[str]:
        """`taken` in the manifest's names: a workspace is an array of one dimension, by cuTile's convention."""
        parts = {p["name"]: [p["name"], *(part["name"] for part in array_parts(p))]
                 for p in declaration.parameters if p["kind"] == "workspace"}
        return [part for name in self.taken(declaration) for part in parts.get(name, [name])]

    def check(self, declaration: Declaration) -> None:
        """Raises DeclarationError unless the declaration says all of the kernel's parameters, and of nothing else."""
        shared = "backend" in declaration.axes  # Another exporter's kernel may take what this one does not.
        axes = [n for n in declaration.axes if n != "backend"]
        given = [*axes, *declaration.constants]
        self._check_constants(declaration, given)
        used = axes_in([declaration.grid, *declaration.grids.values()])
        for axis in axes:
            if axis not in self.names and axis not in used and not shared:
                raise DeclarationError(f"kernel '{self.name}' has no constant '{axis}': the axis would multiply the configs "
                                       f"without effect. The kernel takes ({', '.join(self.names)})")
        for constant in declaration.constants:
            if constant not in self.names and constant not in HINTS and not shared:
                raise DeclarationError(f"kernel '{self.name}' has no constant '{constant}'; it takes ({', '.join(self.names)})")
        declaration.check_names(self.name, [n for n in self.names if n not in given], self.taken(declaration))
        self._check_arrays(declaration)

    def _check_constants(self, declaration: Declaration, given: Sequence[str]) -> None:
        declared = {p.get("name", p.get("dim")): p["kind"] for p in declaration.parameters}
        for name in self.constants():
            if name in given:
                continue
            if name in declared:
                raise DeclarationError(f"'{name}' is a constant of kernel '{self.name}', not a {declared[name]} that a call passes: "
                                       f"give it an axis, or a value in constants")
            if name in declaration.dims:
                raise DeclarationError(f"constant '{name}' of kernel '{self.name}' has no value: if it is the extent of the dim, "
                                       f"constants={{'{name}': ConstantOf('{name}', [4096])}} says for which it is exported")
            raise DeclarationError(f"constant '{name}' of kernel '{self.name}' has no value: give it an axis, or a value in "
                                   "constants")

    def _check_arrays(self, declaration: Declaration) -> None:
        indexed = self.indexed()
        tensors = {p["name"] for p in declaration.tensors()}
        for name in self.names:
            annotation = self.annotations[name]
            if getattr(annotation, "list", None) is not None or (name in indexed and name in tensors):
                raise DeclarationError(f"'{name}' of kernel '{self.name}' is a list of arrays: tuneonce passes tensors, and no "
                                       "tables of them, whose memory it could neither copy for trials nor check")
            array = getattr(annotation, "array", None)
            if array is not None and "64" in str(array.index_dtype):
                raise DeclarationError(f"'{name}' of kernel '{self.name}' is indexed with int64: tuneonce passes extents and "
                                       "strides as int32")

    def without_hints(self, hint_axes: Sequence[str]) -> Any:
        """The kernel without its own values of hints that are axes; others stay in its code, by target."""
        drop = {h: None for h in CUTILE_HINTS if h in hint_axes}
        return self.kernel.replace_hints(**drop) if drop else self.kernel

    def options(self) -> List[str]:
        """For the compiler: the kernel's opt_level, where it is not the default."""
        level = self.kernel._compiler_options.opt_level
        if not isinstance(level, int):
            raise DeclarationError(f"kernel '{self.name}' has opt_level {level!r}: a bundle has one for all targets")
        return [] if level == 3 else [f"-O{level}"]

    @staticmethod
    def in_one_line(error: Exception) -> str:
        """A message of cuTile's, with the kernel's line."""
        text = " ".join(str(getattr(error, "message", None) or error).split())
        place = getattr(error, "loc", None)
        line = getattr(place, "line", None)
        return f"{text} ({place.filename}:{line})" if line else f"{type(error).__name__}: {text}"
