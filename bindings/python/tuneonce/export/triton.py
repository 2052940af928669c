"""From a Triton kernel to PTX by Triton's ahead-of-time compiler, one file per config (PyPI: triton, 3.4 or newer; no GPU is
needed)."""
import os
import pathlib
import re
from typing import Any, Dict, List, Sequence, Tuple

import triton
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tuneonce.export import config_list, constants
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.triton_kernel import OPTIONS, TritonKernel, note
from tuneonce.export.triton_specialization import Specialization

# Triton's names of the manifest's dtypes.
TYPES = {"bool": "i1", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
         "int64": "i64", "uint64": "u64", "float8_e4m3": "fp8e4nv", "float8_e5m2": "fp8e5", "float16": "fp16",
         "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
# From here on Triton's PTX is for one architecture alone (sm_90a); before, newer ones of the same family run it.
FIRST_SPECIFIC = 90


class CompileError(DeclarationError):
    """What Triton's compiler says of one config."""


def check_tile_ir() -> None:
    """NVIDIA's build of Triton has a back end that writes Tile IR, on where ENABLE_TILE=1; the published one has none."""
    if os.environ.get("ENABLE_TILE") == "1":
        raise DeclarationError(f"ENABLE_TILE=1 asks for Triton's Tile IR back end, which triton {triton.__version__} has not "
                               f"(it has: {', '.join(sorted(backends))}): unset ENABLE_TILE to export PTX")


def targets_of(capability: int, capabilities: Sequence[int]) -> Dict[str, int]:
    """Which devices run what is compiled for `capability`, if the others are there too."""
    most = capability
    if capability < FIRST_SPECIFIC:
        newer = [c for c in capabilities if c > capability]
        most = min([capability // 10 * 10 + 9, *(c - 1 for c in newer)])
    return {"min_capability": capability, "max_capability": most}


def export(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path,
           capabilities: Sequence[int]) -> Tuple[Declaration, List[Dict[str, Any]]]:
    """Writes the PTX into `folder`. Returns the declaration, with the kernel's own configs if it is autotuned, and the
    manifest's variants: for each capability (90 for 9.0) one for arguments as Triton's JIT likes them, and a general one."""
    check_tile_ir()
    capabilities = sorted(set(capabilities))
    kernel_of = TritonKernel(kernel, name, declaration)
    pairs = [(Artifacts(kernel_of, c, extents, False), Artifacts(kernel_of, c, extents, True))
             for c in capabilities for extents in constants.extents(kernel_of.declaration.constants)]
    for config in kernel_of.declaration.all_configs("triton"):
        try:
            compiled = [(each, each.compile(config)) for pair in pairs for each in pair]
        except CompileError as error:
            if not kernel_of.has_own_configs:
                raise
            note(name, f"left out, as Triton itself would: {error}")
            kernel_of.leave_out(config)
            continue
        for each, code in compiled:
            each.add(config, code)
    variants = []
    for usual, general in pairs:
        if usual.has_code_of(general):
            variants.append(general.variant(folder, "", capabilities))
        else:
            variants += [usual.variant(folder, "", capabilities), general.variant(folder, "any", capabilities)]
    return kernel_of.declaration, variants


class Artifacts:
    """The code of one variant: for one capability and the extents that are constants, with or without what Triton's JIT would
    specialize for."""

    def __init__(self, kernel: TritonKernel, capability: int, extents: Dict[str, int], is_general: bool) -> None:
        self._kernel = kernel
        self._capability = capability
        self._extents = extents
        self._specialization = Specialization(kernel.declaration, is_general, extents)
        self._taken: List[Dict[str, Any]] = []
        self._code: List[Tuple[Dict[str, Any], Any]] = []  # By config, without axes that mean nothing to Triton.

    def compile(self, config: Dict[str, Any]) -> Any:
        """Errors: CompileError if Triton's compiler says no; DeclarationError if the kernel cannot be launched from a bundle."""
        function, declaration = self._kernel.function, self._kernel.declaration
        values = self._kernel.values(config, self._extents)
        by_name = {p.get("name", p.get("dim")): p for p in declaration.parameters}
        arguments = [n for n in function.arg_names if n not in values]
        known = {n.lower() for n in values}
        names = [n for n in declaration.names_of("triton", with_dims=True) if n.lower() not in known]
        declaration.check_names(self._kernel.name, arguments, names)
        self._taken = [by_name[n] for n in names]
        signature, attributes = {n: "constexpr" for n in function.arg_names}, {}
        fixed = {(function.arg_names.index(n),): v for n, v in values.items() if n in function.arg_names}
        for argument, parameter in zip(arguments, self._taken):
            index = (function.arg_names.index(argument),)
            if self._specialization.is_one(parameter):
                fixed[index] = 1
                continue
            signature[argument] = ("*" if parameter["kind"] == "tensor" else "") + TYPES[parameter["dtype"]]
            if self._specialization.divisor_of(parameter) > 1:
                attributes[index] = [["tt.divisibility", self._specialization.divisor_of(parameter)]]
        options = {n: values[n] for n in OPTIONS if values.get(n) is not None}
        options = {n: v for n, v in options.items() if n not in config_list.HINTS or v != config_list.NOT_SET}
        source = ASTSource(function, signature, constexprs=fixed, attrs=attributes)
        where = f"kernel '{self._kernel.name}' for sm_{self._capability}, config {config}"
        try:
            compiled = triton.compile(source, target=GPUTarget("cuda", self._capability, 32), options=options)
        except Exception as error:  # Whatever it throws: of its own classes, and of the kernel's code.
            self._kernel.check_descriptors()
            raise CompileError(f"{where}: {said(error)}") from None
        return check_launchable(compiled, where)

    def add(self, config: Dict[str, Any], compiled: Any) -> None:
        known = {n: v for n, v in config.items() if self._kernel.is_known(n)}
        if known not in [each for each, _ in self._code]:
            self._code.append((known, compiled))

    def has_code_of(self, other: "Artifacts") -> bool:
        return [c.asm["ptx"] for _, c in self._code] == [c.asm["ptx"] for _, c in other._code]

    def variant(self, folder: pathlib.Path, suffix: str, capabilities: Sequence[int]) -> Dict[str, Any]:
        """Writes its files. Returns the manifest's variant, its name with `suffix`."""
        declaration = self._kernel.declaration
        suffixes = [*(f"{dim}{extent}" for dim, extent in self._extents.items()), *([suffix] if suffix else [])]
        artifacts = []
        for number, (config, compiled) in enumerate(self._code):
            values = "x".join(str(v) for v in config.values())
            infix = values if re.fullmatch(r"[\w.+-]*", values) else str(number)
            parts = [self._kernel.name, *([infix] if infix else []), f"sm_{self._capability}", *suffixes, "ptx"]
            file = folder / ".".join(parts)
            file.write_text(compiled.asm["ptx"])
            metadata = compiled.metadata
            artifact = {"config": config, "file": file.name, "symbol": metadata.name, "block": 32 * metadata.num_warps,
                        "shared_memory": metadata.shared}
            artifacts.append({**artifact, "cluster": metadata.num_ctas} if metadata.num_ctas > 1 else artifact)
        result = {"name": "_".join([f"triton_sm{self._capability}", *suffixes]), "source": "ptx", "convention": "triton",
                  "targets": targets_of(self._capability, capabilities),
                  "parameters": [p.get("name", p.get("dim")) for p in self._taken if not self._specialization.is_one(p)],
                  "grid": declaration.grids.get("triton", declaration.grid),
                  "assumptions": self._specialization.assumptions(self._taken), "artifacts": artifacts}
        return {**result, "backend": "triton"} if "backend" in declaration.axes else result


def said(error: Exception) -> str:
    """The last line of what an exception of Triton's compiler says: those before it show code."""
    lines = [line.strip() for line in str(error.__cause__ or error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def check_launchable(compiled: Any, where: str) -> Any:
    """`compiled`, if a launch needs nothing that a bundle cannot say. Of the scratch pointers behind its parameters, those of
    size 0 are null."""
    metadata = compiled.metadata
    if metadata.global_scratch_size > 0:
        raise DeclarationError(f"{where}: it needs {metadata.global_scratch_size} bytes of global scratch per program "
                               "(tl.make_tensor_descriptor does), which bundles do not have: export a form of it that loads by "
                               "pointers")
    if getattr(metadata, "profile_scratch_size", 0) > 0:
        raise DeclarationError(f"{where}: it is instrumented for a profiler: switch that off")
    if getattr(metadata, "launch_cooperative_grid", False):
        raise DeclarationError(f"{where}: it needs a cooperative launch, which bundles do not have")
    if getattr(metadata, "cluster_dims", (1, 1, 1))[1:] not in ((1, 1), [1, 1]):  # Up to 3.4; later ones lie along x.
        raise DeclarationError(f"{where}: triton {triton.__version__} laid its cluster out in more than one dimension: take 3.5 "
                               "or newer")
    return compiled
