"""From a kernel and the arguments of one call to code, by Triton's own rules."""
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

import triton
from triton import knobs
from triton._C import libtriton
from triton.compiler import ASTSource
from triton.runtime.driver import driver
from triton.runtime.jit import JITCallable, JITFunction

from tuneonce.live.code import Code
from tuneonce.live.unsupported import Unsupported
from tuneonce.triton import lowering
from tuneonce.triton.compile_pool import POOL

# Threads of a warp.
WARP = 32


def _installation() -> str:
    """What identifies the compiler without reading all of it."""
    state = os.stat(libtriton.__file__)
    return f"{triton.__version__} {state.st_size} {state.st_mtime_ns}"


def shown(value: Any) -> Any:
    """A constant as a fingerprint has it: functions by their source."""
    if isinstance(value, JITCallable):
        return value.cache_key
    if isinstance(value, tuple):
        return tuple(shown(each) for each in value)
    return (type(value).__name__, str(value) if type(value).__repr__ is object.__repr__ else repr(value))


class Request(NamedTuple):
    """What is compiled: one config for one specialization, in Triton's words."""
    signature: Dict[str, str]
    constants: Dict[Tuple[int, ...], Any]
    attributes: Dict[Tuple[int, ...], Any]
    options: Dict[str, Any]


class Compiler:
    """Compiles one kernel for the current device. Thread rule: any thread that holds the GIL."""

    def __init__(self, function: JITFunction) -> None:
        self.function = function
        self._installation = _installation()

    def identity(self) -> Tuple[Any, ...]:
        """What code depends on besides arguments and options: the kernel's source, the compiler, the device, the environment."""
        backend = self.function.device_caches[driver.active.get_current_device()][3]
        defaults = backend.parse_options(self._with_knobs({}))
        return (self._installation, self.function.cache_key, str(driver.active.get_current_target()),
                sorted((n, str(v)) for n, v in defaults.__dict__.items()), sorted(libtriton.get_cache_invalidating_env_vars().items()),
                os.environ.get("TRITON_PTXAS_PATH"))

    def request(self, arguments: Dict[str, Any], options: Dict[str, Any]) -> Request:
        """`arguments`: values by parameter, those of the config and of heuristics too. Raises what Triton's launch raises for them:
        TypeError for a missing argument, KeyError for an unknown option."""
        _, _, _, backend, binder = self.function.device_caches[driver.active.get_current_device()]
        options = self._with_knobs(options)
        bound, specialization, left = binder(**arguments, **options)
        _, signature, constants, attributes = self.function._pack_args(backend, {**arguments, **options}, bound, specialization,
                                                                            left)
        return Request(signature, constants, attributes, options)

    def compile(self, requests: Sequence[Request]) -> List[Union[lowering.Compiled, Exception]]:
        """Compiles all of them, several at a time; a single one in this process."""
        target = driver.active.get_current_target()
        if len(requests) == 1:
            try:
                return [lowering.compiled(self._lowered(requests[0], target))]
            except Exception as error:
                return [error]
        return POOL.compile([lambda request=request: self._lowered(request, target) for request in requests])

    def code_of(self, request: Request, compiled: lowering.Compiled) -> Code:
        """Raises Unsupported."""
        metadata = compiled.metadata
        for name, why in (("launch_cooperative_grid", "it needs a cooperative launch"),
                          ("profile_scratch_size", "it is instrumented for a profiler"), ("gsan", "it is instrumented")):
            if metadata.get(name):
                raise Unsupported(why)
        if metadata["num_ctas"] > 8:
            raise Unsupported(f"its clusters have {metadata['num_ctas']} blocks")
        passed = [(i, _form(name, kind)) for i, (name, kind) in enumerate(request.signature.items()) if kind != "constexpr"]
        # Triton's kernels take scratch memory, and that of a profiler, behind their own parameters.
        return Code("cubin", compiled.cubin, metadata["name"], WARP * metadata["num_warps"], metadata["shared"],
                    metadata["num_ctas"], bool(metadata.get("launch_pdl")), metadata.get("global_scratch_size", 0),
                    metadata.get("global_scratch_align", 1), [*passed, (0, "scratch"), (0, "word")])

    def _lowered(self, request: Request, target: Any) -> lowering.Job:
        source = ASTSource(self.function, request.signature, request.constants, request.attributes)
        return lowering.lowered(source, target, request.options)

    def _with_knobs(self, options: Dict[str, Any]) -> Dict[str, Any]:
        """The options with those that Triton's launches take from the kernel and from its settings."""
        settings = {"debug": options.get("debug", self.function.debug) or knobs.runtime.debug,
                    "instrumentation_mode": knobs.compilation.instrumentation_mode}
        if hasattr(knobs.compilation, "fpsan_homomorphic_casts"):
            settings["fpsan_homomorphic_casts"] = knobs.compilation.fpsan_homomorphic_casts
        return {**options, **settings}


def _form(name: str, kind: str) -> str:
    if kind.startswith("*"):
        return "pointer"
    if kind in ("fp32", "f32"):
        return "float32"
    if kind in ("fp64", "f64"):
        return "float64"
    if kind[:1] in ("i", "u") and kind[1:].isdigit():
        return "integer"
    raise Unsupported(f"'{name}' is passed as {kind}")


def why_not(function: Optional[JITFunction]) -> Optional[str]:
    """Why a kernel can run by Triton's own launcher only; None if it need not."""
    if not isinstance(function, JITFunction):
        return "it is not a function under @triton.jit (TRITON_INTERPRET is set?)"
    if function.is_gluon():
        return "it is a Gluon kernel"
    if function.pre_run_hooks:
        return "it has hooks that run before each launch (add_pre_run_hook)"
    return None
