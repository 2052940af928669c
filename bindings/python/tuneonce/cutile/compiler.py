"""From a cuTile kernel and the arguments of one call to code, by cuTile's own rules."""
from typing import Any, NamedTuple, Sequence, Tuple

import cuda.tile as ct
from cuda.tile import _compile, _version
from cuda.tile._cext import default_tile_context, get_compute_capability, get_parameter_constraints_from_pyargs
from cuda.tile.compilation import CallingConvention, KernelSignature

from tuneonce import _tuneonce
from tuneonce.live.fingerprint import fingerprint
from tuneonce.live.unsupported import Unsupported


class Lowered(NamedTuple):
    """One config after cuTile's front end. `name`: of the code that tileiras makes of it; `ir`: after cuTile's passes."""
    name: str
    symbol: str
    bytecode: bytes
    options: Tuple[str, ...]
    ir: Any


class Compiler:
    """Compiles kernels for the current device. Thread rule: any thread that holds the GIL."""
    kind = "cubin"  # The kind of the compiled image, as KernelSource names it.

    def capability(self) -> Tuple[int, int]:
        return tuple(get_compute_capability())

    def identity(self) -> Tuple[Any, ...]:
        """What code depends on besides the kernel."""
        return _version.__version__, _compile._get_compiler_version_string(), self.capability()

    def constraints(self, kernel: Any, arguments: Sequence[Any]) -> Tuple[Any, ...]:
        """What ct.launch compiles a kernel for: by parameter. Raises TypeError for an argument that kernels cannot take."""
        first, second = CallingConvention.cutile_python_v1(), CallingConvention.cutile_python_v2()
        try:
            return (first, *get_parameter_constraints_from_pyargs(kernel, tuple(arguments), first))
        except Exception:  # Tuples, and extents that are constants.
            return (second, *get_parameter_constraints_from_pyargs(kernel, tuple(arguments), second))

    def lowered(self, kernel: Any, constraints: Tuple[Any, ...]) -> Lowered:
        """Runs cuTile's front end. Raises what it raises, and Unsupported."""
        from cuda.tile._preview_loader import get_preview_foreign_call_type
        if get_preview_foreign_call_type() is not None:
            raise Unsupported("it may call foreign code, which is given to the compiler besides the bytecode")
        target = _compile.format_sm_arch(*self.capability())
        level, is_debug = _compile._tileiras_effective_opt_and_device_debug(kernel._compiler_options, target)
        if is_debug:
            raise Unsupported("it is built for a debugger")
        signature = KernelSignature(constraints[1:], constraints[0]).with_mangled_symbol(kernel._pyfunc.__name__)
        made = _compile.compile_tile(kernel._annotated_function, (signature,), target, kernel._compiler_options, default_tile_context,
                                     return_final_ir=True, return_bytecode=True, return_cubin=False)
        bytecode, options = bytes(made.bytecode), (f"-O{level}", "--lineinfo")
        return Lowered(fingerprint("cutile code", self.identity(), bytecode, options), signature.symbol, bytecode, options,
                       made.final_ir[0])

    def begin(self, lowered: Lowered) -> Any:
        """Begins to compile; `end` waits for its end."""
        return _tuneonce._TileIrCompile(lowered.bytecode, lowered.symbol, list(lowered.options), self.capability())

    def end(self, compiling: Any) -> bytes:
        """The cubin. Raises what the compiler says."""
        return compiling.wait()[0]


def shown(value: Any) -> Any:
    """A constant as a fingerprint has it."""
    return tuple(map(shown, value)) if isinstance(value, tuple) else (type(value).__name__, repr(value))


def is_array(value: Any) -> bool:
    return any(hasattr(value, n) for n in ("__dlpack__", "__cuda_array_interface__", "__array_interface__"))
