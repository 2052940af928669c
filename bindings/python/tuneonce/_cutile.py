"""The cuTile kernels of a search, which ct.launch launches and which are compiled several at a time.

cuTile compiles a kernel when it is first launched, one at a time. Here its front end makes the bytecode of all of them first,
and tileiras compiles while the next one's is made; ct.launch then finds what it would have made itself. What cannot be
foreseen is left to cuTile.
"""
import time
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple


Launcher = Callable[[int, Sequence[int]], None]


class CompiledAhead:
    """The kernels of one search. Thread rule: one thread."""

    def __init__(self) -> None:
        self._compiles: List[_Compile] = []
        self._front_end_seconds = 0.0
        self._began = time.perf_counter()

    def launcher(self, kernel: Any, hints: Mapping[str, Any], grid: Any, args: Tuple[Any, ...],
                 at: Callable[[Sequence[int]], Tuple[Any, ...]]) -> Launcher:
        """Returns a function that launches `kernel` with `hints`. `at` returns arguments of the layout of `args`."""
        import cuda.tile as ct
        by_target = {name: ct.ByTarget(**value) if isinstance(value, dict) else value for name, value in hints.items()}
        variant = kernel.replace_hints(**by_target)  # Its own, also without hints: what was compiled here goes with it.
        begun = time.perf_counter()
        compile_ = _begin(variant, args)
        self._front_end_seconds += time.perf_counter() - begun
        if compile_ is not None:
            self._compiles.append(compile_)
            variant._compile = compile_.compiled
        return lambda on, scratch: ct.launch(on, grid, variant, at(scratch))

    def end(self) -> None:
        """Stops running compiles."""
        for each in self._compiles:
            each.end()

    def add_to(self, cost: Dict[str, Any]) -> None:
        """Adds the time of the compiles to the cost of a search, as records have it."""
        done = [each.ended_at for each in self._compiles if each.ended_at is not None]
        if not done:
            return
        made = [each.seconds for each in self._compiles if each.seconds > 0]
        cost.update(compile_seconds=self._front_end_seconds + sum(made), num_compiled=len(made),
                    compile_wall_seconds=max(done) - self._began)


class _Compile:
    """The compiles of one kernel, for the signature of one search's arguments."""

    def __init__(self, kernel: Any, signature: Any, capability: Tuple[int, int], running: Any) -> None:
        self._plain = type(kernel)._compile
        self._kernel = kernel
        self._signature = signature
        self._capability = capability
        self._running = running
        self.seconds = 0.0
        self.ended_at: Optional[float] = None

    def compiled(self, signature: Any, context: Any, capability: Optional[Tuple[int, int]] = None, *more: Any) -> Any:
        """Replaces the kernel's own method, which ct.launch calls for code that it has not loaded yet."""
        is_foreseen = (self._running is not None and not more and capability in (None, self._capability)
                       and signature.parameters == self._signature.parameters
                       and signature.calling_convention.code == self._signature.calling_convention.code)
        if not is_foreseen:
            return self._plain(self._kernel, signature, context, capability, *more)
        from tuneonce import UnavailableError
        try:
            image, self.seconds = self._running.wait()
        except UnavailableError:  # No tileiras where tuneonce looks: cuTile knows others.
            return self._plain(self._kernel, signature, context, capability)
        self.ended_at = time.perf_counter()
        return image, self._signature.symbol, None, ()

    def end(self) -> None:
        self._running = None


def _begin(kernel: Any, args: Tuple[Any, ...]) -> Optional[_Compile]:
    """Begins to compile what ct.launch would. None: it cannot be foreseen, or the front end refuses it, which ct.launch says
    again when this config's turn comes."""
    from tuneonce import _tuneonce
    try:
        from cuda.tile._cext import default_tile_context, get_compute_capability
        from cuda.tile._compile import _tileiras_effective_opt_and_device_debug, compile_tile, format_sm_arch
        from cuda.tile._preview_loader import get_preview_foreign_call_type
        capability = tuple(get_compute_capability())
        target = format_sm_arch(*capability)
        level, is_debug = _tileiras_effective_opt_and_device_debug(kernel._compiler_options, target)
        if is_debug or get_preview_foreign_call_type() is not None:  # It passes the tool more than the bytecode.
            return None
        signature = _signature(kernel, args)
        made = compile_tile(kernel._annotated_function, (signature,), target, kernel._compiler_options, default_tile_context,
                            return_bytecode=True, return_cubin=False)
    except Exception:  # noqa: BLE001: cuTile's own, of any version.
        return None
    running = _tuneonce._TileIrCompile(bytes(made.bytecode), signature.symbol, [f"-O{level}", "--lineinfo"], capability)
    return _Compile(kernel, signature, capability, running)


def _signature(kernel: Any, args: Tuple[Any, ...]) -> Any:
    """Returns the signature that ct.launch compiles for: that of the first calling convention for these arguments."""
    from cuda.tile.compilation import CallingConvention, KernelSignature
    try:
        return KernelSignature.from_kernel_args(kernel, args, CallingConvention.cutile_python_v1())
    except Exception:  # noqa: BLE001: tuples, and extents that are constants.
        return KernelSignature.from_kernel_args(kernel, args, CallingConvention.cutile_python_v2())
