"""From a cuTile kernel to Tile IR bytecode, one file per structural config (PyPI: cuda-tile)."""
import inspect
import pathlib
from typing import Any, Dict, List

from tuneonce.export.declaration import DTYPE_BYTES, Declaration


def array_constraint(declaration: Declaration, parameter: Dict[str, Any], divisible: bool = False) -> Any:
    """What Declaration.assumptions says of a tensor, in cuTile's words."""
    import cuda.tile as ct
    from cuda.tile.compilation import ArrayConstraint
    dtype, rank = getattr(ct, parameter["dtype"]), len(parameter["dims"])
    row_divisor = max(1, declaration.alignment // DTYPE_BYTES[parameter["dtype"]])
    group = declaration.alias_group_of(parameter["name"])
    return ArrayConstraint(dtype, rank, index_dtype=ct.int32, stride_lower_bound_incl=0,
                           alias_groups=() if group < 0 else (f"group{group}",), may_alias_internally=False,
                           stride_constant=[None] * (rank - 1) + [1],
                           stride_divisible_by=[row_divisor] * (rank - 1) + [1],
                           shape_divisible_by=[declaration.divisible.get(d, 1) if divisible else 1
                                               for d in parameter["dims"]],
                           base_addr_divisible_by=declaration.alignment)


def export(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path,
           bytecode_version: str) -> List[Dict[str, Any]]:
    """Writes the bytecode into `folder`. Returns the manifest's variants, the preferred one first."""
    if not declaration.divisible:
        return [export_variant(kernel, name, declaration, folder, bytecode_version, "tile", divisible=False)]
    return [export_variant(kernel, name, declaration, folder, bytecode_version, variant, divisible)
            for variant, divisible in (("tile", True), ("tile_any", False))]


def export_variant(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path, bytecode_version: str,
                   variant: str, divisible: bool) -> Dict[str, Any]:
    import cuda.tile as ct
    from cuda.tile.compilation import (CallingConvention, ConstantConstraint, KernelSignature, ScalarConstraint,
                                       export_kernel)
    by_name = {p.get("name", p.get("dim")): p for p in declaration.parameters}
    taken = declaration.names_of("tile", with_dims=False)
    function = getattr(kernel, "_pyfunc", None) or getattr(kernel, "__wrapped__", kernel)
    names = list(inspect.signature(function).parameters)
    declaration.check_names(name, [n for n in names if n not in declaration.axes], taken)
    artifacts: List[Dict[str, Any]] = []
    for config in declaration.structural_configs("tile"):
        constraints = []
        declared = iter(taken)
        for argument in names:  # In the kernel's order: constants may stand anywhere.
            parameter = None if argument in declaration.axes else by_name[next(declared)]
            if parameter is None:
                constraints.append(ConstantConstraint(config[argument]))
            elif parameter["kind"] == "tensor":
                constraints.append(array_constraint(declaration, parameter, divisible))
            else:
                constraints.append(ScalarConstraint(getattr(ct, parameter["dtype"])))
        signature = KernelSignature(constraints, CallingConvention.cutile_python_v1(), symbol=name)
        infix = ".any" if variant == "tile_any" else ""
        file = folder / f"{name}.{'x'.join(str(v) for v in config.values())}{infix}.tileir"
        export_kernel(kernel, [signature], str(file), output_format="tileir_bytecode",
                      bytecode_version=bytecode_version)
        artifacts.append({"config": config, "file": file.name})
    return {"name": variant, "source": "tile_ir", "symbol": name, "parameters": taken,
            "grid": declaration.grids.get("tile", declaration.grid), "assumptions": declaration.assumptions(divisible),
            "artifacts": artifacts}
