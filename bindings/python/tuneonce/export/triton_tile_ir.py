"""Triton's Tile IR back end (github.com/triton-lang/Triton-to-tile-IR): its bytecode for a kernel that is also exported as PTX, as
variants of a back end of their own, so that both race."""
import dataclasses
import os
import pathlib
from typing import Any, Dict, List, Optional, Set

import triton
from triton.backends import backends
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from tuneonce.export import config_list, tile_ir_math
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.triton_artifacts import Artifacts, CompileError, said
from tuneonce.export.triton_driver import SWITCH, TILE_IR, compiling_for
from tuneonce.export.triton_kernel import TILE_IR_OPTIONS, note

# The value of the axis `backend`, and the first part of a variant's name.
BACKEND = "triton_tile"
# Triton's level of optimization by tileiras, also where a bundle names none.
DEFAULT_LEVEL = 3
# Hints of the compiled entry. Where they are axes, they are patched into the bytecode as a config is compiled.
PATCHED = ("occupancy", "num_ctas")
# Hints that have no effect on Tile IR: the compiler chooses the warps, and occupancy limits the registers.
WITHOUT_EFFECT = ("num_warps", "maxnreg")


def is_wanted(kernel: str, declaration: Declaration) -> bool:
    """Whether ENABLE_TILE=1 selects the back end, as in Triton itself. Prints a line if it does and there is none, or if the
    declaration's own axis `backend` does not have it."""
    if os.environ.get(SWITCH) != "1":
        return False
    missing = None
    if TILE_IR not in backends:
        missing = (f"triton {triton.__version__} has no Tile IR back end (it has: {', '.join(sorted(backends))}); install Triton from "
                   "github.com/triton-lang/Triton-to-tile-IR")
    elif BACKEND not in declaration.axes.get("backend", (BACKEND,)):
        missing = f"the axis backend has no value '{BACKEND}'; add it"
    if missing:
        note(kernel, f"Triton's Tile IR is not exported, though {SWITCH}=1: {missing}")
    return missing is None


def raced(declaration: Declaration) -> Declaration:
    """The declaration with an axis `backend` in front, unless it has one: each config once for PTX, which is the baseline, and once
    for Tile IR. A hint that has no effect on a back end is not set in its configs."""
    is_new = "backend" not in declaration.axes
    values = ["triton", BACKEND] if is_new else list(declaration.axes["backend"])
    unset = {BACKEND: WITHOUT_EFFECT, **({"triton": ("occupancy",)} if is_new else {})}

    def of(config: Dict[str, Any], backend: str) -> Dict[str, Any]:
        result = {**({"backend": backend} if is_new else {}), **config}
        return {n: config_list.NOT_SET if n in unset.get(result["backend"], ()) else v for n, v in result.items()}

    def of_single(config: Any) -> Any:
        if isinstance(config, list):
            return [of_single(each) for each in config]
        if isinstance(config, dict) and "config" in config:
            return {**config, "config": of(config["config"], "triton")}
        return config if config is None else of(config, "triton")

    configs: List[Dict[str, Any]] = []
    for backend in values if is_new else values[:1]:
        for config in declaration.all_configs():
            structural = {n: v for n, v in config.items() if n not in declaration.option_axes}
            configs += [each for each in [of(structural, backend)] if each not in configs]
    return dataclasses.replace(declaration, configs=configs, axes={**({"backend": values} if is_new else {}), **declaration.axes},
                               hint_axes=config_list.axes_of(configs, hints=True), baseline=of_single(declaration.baseline),
                               fallback=of_single(declaration.fallback))


@dataclasses.dataclass(frozen=True)
class TileIr:
    """What the back end made of one config."""
    bytecode: bytes
    symbol: str
    opt_level: int


class TileIrArtifacts(Artifacts):
    """The Tile IR of one variant. Its entry takes what Triton's launcher passes to it: pointers and numbers in the kernel's order,
    without the two null pointers that PTX takes. It is launched with one thread per block and without dynamic shared memory."""
    backend = BACKEND

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._levels: Set[int] = set()  # The configs' opt_level.

    def _compiled(self, source: ASTSource, options: Dict[str, Any], where: str) -> TileIr:
        """Runs the back end's stages up to its Tile IR: tileiras, its last stage, runs when the bundle is tuned."""
        from triton._C.libtriton import ir, tileir
        from triton.compiler.compiler import make_backend
        if any(p["kind"] == "descriptor" for p in self._taken):
            raise DeclarationError(f"{where}: a TensorDescriptor cannot be passed to Triton's Tile IR from a bundle; unset "
                                   f"{SWITCH} to export PTX alone")
        target = GPUTarget(TILE_IR, self._capability, 32)
        with compiling_for(TILE_IR, self._capability, self._masked()):
            try:
                compiler = make_backend(target)
                parsed = compiler.parse_options({n: v for n, v in options.items() if n not in WITHOUT_EFFECT})
                context = ir.context()
                ir.load_dialects(context)
                compiler.load_dialects(context)
                module = source.make_ir(target, parsed, compiler.get_codegen_implementation(parsed), compiler.get_module_map(), context)
                metadata: Dict[str, Any] = {"target": target, **vars(parsed)}
                stages: Dict[str, Any] = {}
                compiler.add_stages(stages, parsed, source.language)
                for stage in [stage for name, stage in stages.items() if name != compiler.binary_ext]:
                    module = stage(module, metadata)
                return TileIr(bytes(tileir.write_bytecode(module)), metadata["name"], parsed.opt_level)
            except Exception as error:  # Triton's compiler raises exceptions of many classes, those of the kernel's code too.
                raise CompileError(f"{where}, Tile IR: {said(error)}") from None

    def _masked(self) -> Dict[str, Optional[str]]:
        """The back end writes the flags of TILEIR_ENABLE_FTZ and TILEIR_ENABLE_APPROX into its code. Where such an option is an axis,
        the code has none of them, and the search patches them in."""
        return {v: None for option, v in tile_ir_math.VARIABLES.items() if option in self._kernel.declaration.option_axes}

    def _options(self, config: Dict[str, Any], values: Dict[str, Any]) -> Dict[str, Any]:
        return {n: v for n, v in super()._options(config, values).items() if n not in PATCHED or n not in config}

    def _option_names(self) -> Set[str]:
        return {*super()._option_names(), *TILE_IR_OPTIONS}

    def _decides_code(self, name: str) -> bool:
        return super()._decides_code(name) and name not in (*PATCHED, *WITHOUT_EFFECT)

    def add(self, config: Dict[str, Any], compiled: Any) -> None:
        super().add(config, compiled)
        self._levels.add(compiled.opt_level)

    def code(self) -> List[Any]:
        """The bytecode of each config."""
        return [compiled.bytecode for _, compiled in self._code]

    def is_overlapping(self) -> bool:
        return False  # Bundles launch Tile IR without programmatic dependent launch.

    @property
    def scratch_bytes(self) -> int:
        return 0

    def variant(self, folder: pathlib.Path, source: str, suffix: str) -> Dict[str, Any]:
        """As Artifacts.variant; `source`, the form of the PTX next to it, has no effect. Errors: DeclarationError if there is no
        code."""
        if not self._code:
            raise DeclarationError(f"no config of kernel '{self._kernel.name}' compiles to Tile IR: unset {SWITCH} to export PTX alone")
        return super().variant(folder, "tileir", suffix)

    def _form(self, source: str) -> Dict[str, Any]:
        if len(self._levels) > 1:
            raise DeclarationError(f"the configs of kernel '{self._kernel.name}' differ in opt_level, and a variant has one value for "
                                   "all of them; give opt_level a value in constants")
        level, = self._levels
        form = {"source": "tile_ir", "convention": "plain"}
        return form if level == DEFAULT_LEVEL else {**form, "options": [f"-O{level}"]}

    def _write(self, compiled: Any, source: str, file: pathlib.Path) -> Dict[str, Any]:
        file.write_bytes(compiled.bytecode)
        return {"symbol": compiled.symbol}
