"""From a Triton kernel to PTX by Triton's ahead-of-time compiler, one file per structural config, num_warps and
num_stages (PyPI: triton; no GPU is needed)."""
import pathlib
from typing import Any, Dict, List

from tuneonce.export.declaration import Declaration

# Triton's names of the manifest's dtypes.
TYPES = {"bool": "i1", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
         "int64": "i64", "uint64": "u64", "float8_e4m3": "fp8e4nv", "float8_e5m2": "fp8e5", "float16": "fp16",
         "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def export(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path, capability: int) -> List[Dict[str, Any]]:
    """Writes the PTX into `folder`. Returns the manifest's variants: one. The PTX runs on `capability` (90 for 9.0) and newer
    of the same family only, as Triton writes it for one architecture."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    by_name = {p.get("name", p.get("dim")): p for p in declaration.parameters}
    taken = declaration.names_of("triton", with_dims=True)
    arguments = [n for n in kernel.arg_names if n not in declaration.axes]
    declaration.check_names(name, arguments, taken)
    signature: Dict[str, str] = {}
    attributes: Dict[Any, Any] = {}
    for argument, parameter in ((a, by_name[t]) for a, t in zip(arguments, taken)):
        pointer = "*" if parameter["kind"] == "tensor" else ""
        signature[argument] = pointer + TYPES[parameter["dtype"]]
        if pointer:
            attributes[(kernel.arg_names.index(argument),)] = [["tt.divisibility", declaration.alignment]]
    artifacts: List[Dict[str, Any]] = []
    for config in declaration.all_configs("triton"):
        constants = {n: config[n] for n in kernel.arg_names if n in declaration.axes}
        types = {n: "constexpr" if n in constants else signature[n] for n in kernel.arg_names}
        source = ASTSource(kernel, types, constexprs={(kernel.arg_names.index(n),): v for n, v in constants.items()},
                           attrs=attributes)
        options = {n: config[n] for n in ("num_warps", "num_stages") if n in config}
        compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options=options)
        file = folder / f"{name}.{'x'.join(str(v) for v in config.values())}.sm_{capability}.ptx"
        file.write_text(compiled.asm["ptx"])
        artifacts.append({"config": config, "file": file.name, "symbol": compiled.metadata.name,
                          "block": 32 * compiled.metadata.num_warps, "shared_memory": compiled.metadata.shared})
    # Of strides it assumes what every bare pointer means: contiguous, but for those that it takes.
    return [{"name": "triton", "source": "ptx", "convention": "triton", "parameters": taken,
            "targets": {"min_capability": capability, "max_capability": capability},
            "grid": declaration.grids.get("triton", declaration.grid), "assumptions": declaration.assumptions(strides=False),
            "artifacts": artifacts}]
