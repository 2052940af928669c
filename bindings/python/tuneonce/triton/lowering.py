"""Triton's compiler in two steps: from Python to TTIR where the kernel's module is, and from there to a cubin anywhere."""
import os
import tempfile
from typing import Any, Dict, NamedTuple, Tuple

import triton
from triton._C.libtriton import get_cache_invalidating_env_vars, ir
from triton.backends.compiler import GPUTarget, Language
from triton.compiler import ASTSource, make_backend


class Job(NamedTuple):
    """What a worker compiles: TTIR before Triton's passes, for a target and with options."""
    ttir: str
    target: Tuple[str, int, int]
    options: Dict[str, Any]


class Compiled(NamedTuple):
    """What a worker returns."""
    cubin: bytes
    ttir: str
    metadata: Dict[str, Any]


# What a launch needs of the compiler's metadata.
METADATA = ("name", "num_warps", "num_ctas", "shared", "launch_pdl", "launch_cooperative_grid", "global_scratch_size",
            "global_scratch_align", "profile_scratch_size", "tmem_size", "gsan")


def lowered(source: ASTSource, target: GPUTarget, options: Dict[str, Any]) -> Job:
    """Runs the kernel's Python code, as Triton's own compiler does first."""
    backend = make_backend(target)
    parsed = backend.parse_options(dict(options))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module = source.make_ir(target, parsed, backend.get_codegen_implementation(parsed), backend.get_module_map(), context)
    return Job(str(module), (target.backend, target.arch, target.warp_size), dict(options))


def compiled(job: Job) -> Compiled:
    """Runs the other stages of Triton's compiler."""
    target = GPUTarget(*job.target)
    backend = make_backend(target)
    options = backend.parse_options(dict(job.options))
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    with tempfile.NamedTemporaryFile("w", suffix=".ttir", delete=False) as file:
        file.write(job.ttir)
    try:
        module = ir.parse_mlir_module(file.name, context)
    finally:
        os.unlink(file.name)
    module.context = context
    metadata: Dict[str, Any] = {"hash": "", "target": target, **options.__dict__, **get_cache_invalidating_env_vars(),
                                "triton_version": triton.__version__}
    stages: Dict[str, Any] = {}
    backend.add_stages(stages, options, Language.TRITON)
    text = ""
    for name, stage in stages.items():
        module = stage(module, metadata)
        if name == "ttir":
            text = str(module)
    return Compiled(module, text, {n: metadata[n] for n in METADATA if n in metadata})
