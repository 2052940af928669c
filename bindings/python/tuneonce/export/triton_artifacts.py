"""The code of a variant of a Triton kernel: compiled, checked, written."""
import pathlib
import re
from typing import Any, Dict, List, Sequence, Set, Tuple

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tuneonce.export import config_list, triton_descriptor, triton_driver
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.kernel_names import declared_names
from tuneonce.export.compiler_words import said
from tuneonce.export.triton_kernel import OPTIONS, TILE_IR_OPTIONS, TritonKernel
from tuneonce.export.triton_scratch import SCRATCH
from tuneonce.export.triton_specialization import Specialization

# Triton's names of the manifest's dtypes.
TYPES = {"bool": "i1", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
         "int64": "i64", "uint64": "u64", "float8_e4m3": "fp8e4nv", "float8_e5m2": "fp8e5", "float16": "fp16",
         "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
# The first capability with programmatic dependent launch (launch_pdl); older devices run launches one after the other.
FIRST_WITH_OVERLAP = 90
# How PTX waits for the launch before it: tl.extra.cuda.gdc_wait().
WAIT = "griddepcontrol.wait"
# From here on Triton's code is for one architecture alone (sm_90a); before, newer ones of the same family run it.
FIRST_SPECIFIC = 90


class CompileError(DeclarationError):
    """What Triton's compiler says of one config."""


def type_of(parameter: Dict[str, Any]) -> str:
    """Triton's name of a parameter's type; of memory, of a pointer to it."""
    return ("*" if parameter["kind"] in ("tensor", "workspace") else "") + TYPES[parameter["dtype"]]


class Artifacts:
    """The code of one variant: for one capability and the extents that are constants, with or without what Triton's JIT would
    specialize for. This class holds PTX and cubins.

    Attributes: `backend`, the back end's value of an axis `backend`, and the first part of the variant's name.
    """
    backend = "triton"

    def __init__(self, kernel: TritonKernel, capability: int, extents: Dict[str, int], is_general: bool,
                 unaligned: Sequence[str] = ()) -> None:
        self._kernel = kernel
        self._capability = capability
        self._extents = extents
        self._specialization = Specialization(kernel.declaration, is_general, extents, unaligned)
        self._taken: List[Dict[str, Any]] = []
        self._code: List[Tuple[Dict[str, Any], Any]] = []  # By config, without axes that mean nothing to Triton.

    def compile(self, config: Dict[str, Any]) -> Any:
        """Errors: CompileError if Triton's compiler says no; DeclarationError if the kernel cannot be launched from a bundle."""
        function, declaration = self._kernel.function, self._kernel.declaration
        values = self._kernel.values(config, self._extents)
        by_name = declaration.by_name()
        arguments = [n for n in function.arg_names if n not in values]
        declared = declared_names(function.arg_names, list(by_name))
        constant = {declared[n] for n in declared if n in values}
        names = [n for n in triton_descriptor.names_of(declaration, arguments) if n not in constant]
        described = triton_descriptor.arguments_of(declaration, arguments)
        declaration.check_names(self._kernel.name, arguments, [described.get(n, n) for n in names])
        self._taken = [by_name[n] for n in names]
        signature, attributes = {n: "constexpr" for n in function.arg_names}, {}
        fixed = {(function.arg_names.index(n),): v for n, v in values.items() if n in function.arg_names}
        for argument, parameter in zip(arguments, self._taken):
            index = (function.arg_names.index(argument),)
            if parameter["kind"] == "descriptor":
                signature[argument] = self._descriptor_type(parameter, values)
                continue
            if self._specialization.is_one(parameter):
                fixed[index] = 1
                continue
            signature[argument] = type_of(parameter)
            if self._specialization.divisor_of(parameter) > 1:
                attributes[index] = [["tt.divisibility", self._specialization.divisor_of(parameter)]]
        source = ASTSource(function, signature, constexprs=fixed, attrs=attributes)
        where = f"kernel '{self._kernel.name}' for sm_{self._capability}, config {config}"
        return self._compiled(source, self._options(config, values), where)

    def _options(self, config: Dict[str, Any], values: Dict[str, Any]) -> Dict[str, Any]:
        """The options of Triton's compiler at `config`, where `values` are the kernel's."""
        options = {n: values[n] for n in self._option_names() if values.get(n) is not None}
        return {n: v for n, v in options.items() if n not in config_list.HINTS or v != config_list.NOT_SET}

    def _option_names(self) -> Set[str]:
        return set(OPTIONS)

    def _compiled(self, source: ASTSource, options: Dict[str, Any], where: str) -> Any:
        """The code of one config. Errors: as `compile`; a message begins with `where`."""
        try:
            with triton_driver.compiling_for("cuda", self._capability):
                compiled = triton.compile(source, target=GPUTarget("cuda", self._capability, 32), options=options)
        except Exception as error:  # Whatever it throws: of its own classes, and of the kernel's code.
            self._kernel.check_descriptors()
            raise CompileError(f"{where}: {said(error)}") from None
        if self._capability >= FIRST_WITH_OVERLAP and has_overlap(compiled) and WAIT not in compiled.asm["ptx"]:
            raise DeclarationError(f"{where}: launch_pdl is set, but its code never waits for the launch before it "
                                   "(gdc_wait), whose results may not be written yet; leave launch_pdl out")
        return check_launchable(compiled, where)

    def _descriptor_type(self, parameter: Dict[str, Any], values: Dict[str, Any]) -> str:
        if self._capability < triton_descriptor.FIRST_WITH_MAPS:
            raise DeclarationError(f"kernel '{self._kernel.name}' takes the descriptor '{parameter['name']}', which devices of "
                                   f"capability {self._capability} have not: --capability {triton_descriptor.FIRST_WITH_MAPS}")
        dtype = self._kernel.declaration.by_name()[parameter["tensor"]]["dtype"]
        return triton_descriptor.type_of(parameter, TYPES[dtype], values)

    def descriptors(self) -> Dict[str, List[triton_descriptor.Compiled]]:
        """By name of a descriptor: what it is in each config."""
        names = [p["name"] for p in self._taken if p["kind"] == "descriptor"]
        rows: Dict[str, List[triton_descriptor.Compiled]] = {name: [] for name in names}
        for config, compiled in self._code:
            for name, meta in zip(names, compiled.metadata.tensordesc_meta if names else ()):
                rows[name].append((self._kernel.values(config, self._extents), meta))
        return rows

    def _passed(self) -> List[str]:
        """Names of the kernel's parameters but the constants, as the manifest has them."""
        passed: List[str] = []
        for parameter in self._taken:
            if self._specialization.is_one(parameter):
                continue
            passed.append(parameter.get("name", parameter.get("dim")))
            if parameter["kind"] == "descriptor":
                passed += [p["name"] for p in triton_descriptor.passed_behind(parameter, self._kernel.declaration)]
        return passed

    def add(self, config: Dict[str, Any], compiled: Any) -> None:
        known = {n: v for n, v in config.items() if self._decides_code(n)}
        if known not in [each for each, _ in self._code]:
            self._code.append((known, compiled))

    def _decides_code(self, name: str) -> bool:
        """Whether the value of the axis `name` changes the code."""
        return self._kernel.is_known(name) and name not in TILE_IR_OPTIONS

    def is_overlapping(self) -> bool:
        """Whether its launches may begin before the end of the launch before them (launch_pdl). Errors:
        DeclarationError if its configs differ in that."""
        values = {has_overlap(c) for _, c in self._code}
        if len(values) > 1:
            raise DeclarationError(f"the configs of kernel '{self._kernel.name}' differ in launch_pdl, and a variant "
                                   "has one value for all of them; give launch_pdl a value in constants")
        return values == {True} and self._capability >= FIRST_WITH_OVERLAP

    def waits_in_vain(self) -> bool:
        """Whether its code waits for the launch before it, and is launched after the end of that."""
        return not self.is_overlapping() and any(WAIT in ptx for ptx in self.code())

    def has_code_of(self, other: "Artifacts") -> bool:
        return self.code() == other.code()

    def code(self) -> List[Any]:
        """The code of each config: PTX as text."""
        return [compiled.asm["ptx"] for _, compiled in self._code]

    @property
    def scratch_bytes(self) -> int:
        """Global scratch of one program, at most."""
        return max(c.metadata.global_scratch_size * c.metadata.num_ctas for _, c in self._code)

    def targets(self, capabilities: Sequence[int]) -> Dict[str, int]:
        """Which devices run it, if there is code for `capabilities`."""
        most = self._capability
        if most < FIRST_SPECIFIC:
            most = min([most // 10 * 10 + 9, *(c - 1 for c in capabilities if c > most)])
        return {"min_capability": self._capability, "max_capability": most}

    def variant(self, folder: pathlib.Path, source: str, suffix: str) -> Dict[str, Any]:
        """Writes its files. Returns the manifest's variant but for its targets, its name with `suffix`."""
        declaration = self._kernel.declaration
        suffixes = [*(f"{dim}{extent}" for dim, extent in self._extents.items()), *([suffix] if suffix else [])]
        taken = self._passed()
        artifacts = []
        for number, (config, compiled) in enumerate(self._code):
            values = "x".join(str(v) for v in config.values())
            infix = values if re.fullmatch(r"[\w.+-]*", values) else str(number)
            parts = [self._kernel.name, *([infix] if infix else []), f"sm_{self._capability}", *suffixes, source]
            file = folder / ".".join(parts)
            artifacts.append({"config": config, "file": file.name, **self._write(compiled, source, file)})
        if self.scratch_bytes > 0:
            taken.append(SCRATCH)
        grids = declaration.grids
        result = {"name": "_".join([f"{self.backend}_sm{self._capability}", *suffixes]), **self._form(source), "parameters": taken,
                  "grid": grids.get(self.backend, grids.get("triton", declaration.grid)),
                  "assumptions": self._specialization.assumptions(self._taken), "artifacts": artifacts}
        if self.is_overlapping():
            result["programmatic_launch"] = True
        return {**result, "backend": self.backend} if "backend" in declaration.axes else result

    def _form(self, source: str) -> Dict[str, Any]:
        """The variant's fields of the form of its code."""
        return {"source": source, "convention": "triton"}

    def _write(self, compiled: Any, source: str, file: pathlib.Path) -> Dict[str, Any]:
        """Writes the code of one config. Returns what the artifact states of its launch."""
        code, metadata = compiled.asm[source], compiled.metadata
        file.write_bytes(code if source == "cubin" else code.encode())
        cluster = {"cluster": metadata.num_ctas} if metadata.num_ctas > 1 else {}
        return {"symbol": metadata.name, "block": 32 * metadata.num_warps, "shared_memory": metadata.shared, **cluster}


def has_overlap(compiled: Any) -> bool:
    """Whether launch_pdl is set."""
    return bool(getattr(compiled.metadata, "launch_pdl", False))


def check_launchable(compiled: Any, where: str) -> Any:
    """`compiled`, if a launch needs nothing that a bundle cannot say."""
    metadata = compiled.metadata
    if getattr(metadata, "profile_scratch_size", 0) > 0:
        raise DeclarationError(f"{where}: it is instrumented for a profiler: switch that off")
    if getattr(metadata, "launch_cooperative_grid", False):
        raise DeclarationError(f"{where}: it needs a cooperative launch, which bundles do not have")
    if getattr(metadata, "cluster_dims", (1, 1, 1))[1:] not in ((1, 1), [1, 1]):  # Up to 3.4; later ones lie along x.
        raise DeclarationError(f"{where}: triton {triton.__version__} laid its cluster out in more than one dimension: take 3.5 "
                               "or newer")
    return compiled
