"""From a cuTile kernel to Tile IR bytecode, one file per structural config (PyPI: cuda-tile)."""
import dataclasses
import math
import pathlib
from types import FunctionType
from typing import Any, Dict, List, Sequence, Tuple

from tuneonce.export import constants, dtype_set, tile_ir_math
from tuneonce.export.cutile_kernel import CutileKernel, array_parts
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.parameters import DTYPE_BYTES
from tuneonce.export.terms import is_multiple

# cuTile's names of the manifest's dtypes, where they differ.
TYPES = {"bool": "bool_", "float8_e4m3": "float8_e4m3fn"}
# The divisor of extents that cuTile's own launches check.
EXTENT_DIVISOR = 16
# Workspaces are allocated on their own.
WORKSPACE_ALIGNMENT = 256


def dtype_of(name: str) -> Any:
    import cuda.tile as ct
    return getattr(ct, TYPES.get(name, name))


def array_constraint(declaration: Declaration, parameter: Dict[str, Any], divisible: bool = False,
                     extents: Dict[str, int] = {}, unaligned: Sequence[str] = ()) -> Any:  # Not changed here.
    """What Declaration.assumptions, and extents that are constants, say of a tensor, in cuTile's words."""
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint
    rank = len(parameter["dims"])
    alignment = declaration.row_alignment(parameter, unaligned)
    row_divisor = max(1, alignment // DTYPE_BYTES[parameter["dtype"]])
    group = declaration.alias_group_of(parameter["name"])
    divisors = {**(declaration.divisible if divisible else {}),
                **{d: math.gcd(n, EXTENT_DIVISOR) for d, n in extents.items()}}
    return ArrayConstraint(dtype_of(parameter["dtype"]), rank, index_dtype=ct.int32, stride_lower_bound_incl=0,
                           alias_groups=() if group < 0 else (f"group{group}",), may_alias_internally=False,
                           stride_constant=[None] * (rank - 1) + [1],
                           stride_divisible_by=[row_divisor] * (rank - 1) + [1],
                           shape_divisible_by=[divisors.get(d, 1) for d in parameter["dims"]],
                           base_addr_divisible_by=alignment)


def workspace_constraint(parameter: Dict[str, Any]) -> Any:
    """A workspace as an array of one dimension, which `workspace` rounds up; of one that was declared without it, nothing is
    known."""
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint
    divisor = EXTENT_DIVISOR if is_multiple(parameter["elements"], EXTENT_DIVISOR) else 1
    return ArrayConstraint(dtype_of(parameter["dtype"]), 1, index_dtype=ct.int32, stride_lower_bound_incl=0,
                           alias_groups=(), may_alias_internally=False, stride_constant=[1], stride_divisible_by=[1],
                           shape_divisible_by=[divisor], base_addr_divisible_by=WORKSPACE_ALIGNMENT)


def export(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path,
           bytecode_version: str) -> Tuple[Declaration, List[Dict[str, Any]]]:
    """Writes the bytecode into `folder`. Returns the declaration, with what cuTile passes of workspaces beside their
    addresses, and the manifest's variants: for each of the extents that are constants the preferred one first."""
    cutile_kernel = CutileKernel(kernel, name)
    cutile_kernel.check(declaration)
    exports = [export for of_dtype, dtype in dtype_set.each(declaration) for export in exports_of(cutile_kernel, of_dtype, dtype)]
    variants = [each.write(folder, bytecode_version) for each in exports]
    workspaces = [p for p in declaration.parameters if p["kind"] == "workspace" and p["name"] in cutile_kernel.names]
    parts = [part for each in workspaces for part in array_parts(each)]
    return dataclasses.replace(declaration, more_parameters=[*declaration.more_parameters, *parts]), variants


def exports_of(kernel: CutileKernel, declaration: Declaration, dtype: str) -> List["Export"]:
    """The variants for one dtype; `dtype` is what is put behind their names."""
    result = []
    for extents in constants.extents(declaration.constants):
        # The divisors of a constant are known.
        divisible = {d: n for d, n in declaration.divisible.items() if d not in extents}
        of_extents = dataclasses.replace(declaration, divisible=divisible)
        for variant, is_divisible in (("tile", True), ("tile_any", False)) if divisible else (("tile", False),):
            result.append(Export(kernel, of_extents, variant, is_divisible, extents, dtype))
        for group in declaration.unaligned:
            result.append(Export(kernel, of_extents, "_".join(["tile_unaligned", *group]), False, extents, dtype, group))
    return result


@dataclasses.dataclass
class Export:
    """One variant. `extents`: those that are constants of it, by dim. `dtype`: what is put behind its name. `unaligned`: dims along
    which rows may begin anywhere."""
    kernel: CutileKernel
    declaration: Declaration
    variant: str
    divisible: bool
    extents: Dict[str, int]
    dtype: str = ""
    unaligned: Sequence[str] = ()

    @property
    def suffix(self) -> str:
        return "".join(f"_{dim}{extent}" for dim, extent in self.extents.items()) + (f"_{self.dtype}" if self.dtype else "")

    def assumptions(self) -> List[Dict[str, Any]]:
        result = self.declaration.assumptions(self.divisible, self.unaligned)
        for dim, extent in self.extents.items():
            if dim in self.declaration.dims:
                name, dimension = self.declaration.place_of(dim)
                result.append({"tensor": name, "dimension": dimension, "extent": extent})
            else:
                result.append({"scalar": dim, "is": extent})
        return result

    def constraint(self, argument: str, values: Dict[str, Any]) -> Any:
        """What a kernel's parameter is compiled for."""
        from cuda.tile.compilation import ScalarConstraint
        if argument in values:
            return values[argument]
        parameter = self.declaration.parameters_by_argument(self.kernel.names)[argument]
        if parameter["kind"] == "tensor":
            return array_constraint(self.declaration, parameter, self.divisible, self.extents, self.unaligned)
        if parameter["kind"] == "workspace":
            return workspace_constraint(parameter)
        return ScalarConstraint(dtype_of(parameter["dtype"]))

    def write_config(self, config: Dict[str, Any], file: pathlib.Path, bytecode_version: str) -> None:
        from cuda.tile.compilation import CallingConvention, KernelSignature, export_kernel
        values = constants.values_at(self.declaration.constants, config, self.extents)
        values = {n: v for n, v in values.items() if n in self.kernel.names and (n in config or n in self.declaration.constants)}
        for name, value in values.items():
            if not is_constant(value):
                raise DeclarationError(f"constant '{name}' of kernel '{self.kernel.name}' is {value!r}; cuTile's constants are "
                                       "whole numbers, floats, truth values and tuples of them")
        has_tuple = any(isinstance(v, tuple) for v in values.values())  # Version 2 differs only in tuples.
        convention = CallingConvention.cutile_python_v2() if has_tuple else CallingConvention.cutile_python_v1()
        try:
            signature = KernelSignature([self.constraint(n, values) for n in self.kernel.names], convention,
                                        symbol=self.kernel.name)
            export_kernel(self.kernel.without_hints(self.declaration.hint_axes), [signature], str(file),
                          output_format="tileir_bytecode", bytecode_version=bytecode_version)
        except Exception as error:  # cuTile's, in its words; a declaration's mistakes were found before.
            raise DeclarationError(f"cuTile does not compile kernel '{self.kernel.name}' with {values}: "
                                   f"{self.kernel.in_one_line(error)}") from error

    def kernel_configs(self) -> List[Dict[str, Any]]:
        """One per file: without axes that only other back ends or a grid have, unless a constant may follow from them."""
        computed = any(isinstance(c, FunctionType) for c in self.declaration.constants.values())
        configs: List[Dict[str, Any]] = []
        for config in self.declaration.structural_configs("tile"):
            known = {n: v for n, v in config.items() if computed or n in self.kernel.names}
            if known not in configs:
                configs.append(known)
        return configs

    def write(self, folder: pathlib.Path, bytecode_version: str) -> Dict[str, Any]:
        kind = self.variant[len("tile_"):]  # any, unaligned_N.
        infix = (f".{kind}" if kind else "") + self.suffix.replace("_", ".")
        artifacts = []
        for config in self.kernel_configs():
            values = ["x".join(str(v) for v in config.values())] if config else []
            file = folder / (".".join([self.kernel.name, *values]) + infix + ".tileir")
            self.write_config(config, file, bytecode_version)
            artifacts.append({"config": config, "file": file.name})
        result = {"name": self.variant + self.suffix, "source": "tile_ir", "symbol": self.kernel.name,
                  "parameters": self.kernel.passed(self.declaration),
                  "grid": self.declaration.grids.get("tile", self.declaration.grid), "assumptions": self.assumptions(),
                  "artifacts": artifacts}
        options = [*self.kernel.options(), *tile_ir_math.options(self.declaration)]
        if options:
            result["options"] = options
        if self.declaration.programmatic_launch:
            result["programmatic_launch"] = True
        if "backend" in self.declaration.axes:
            result["backend"] = "tile"  # Whatever the variant's own name: they stand in for each other.
        return result


def is_constant(value: Any) -> bool:
    return all(map(is_constant, value)) if isinstance(value, tuple) else isinstance(value, (bool, int, float))

