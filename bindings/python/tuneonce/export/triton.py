"""From a Triton kernel to PTX or a cubin by Triton's ahead-of-time compiler, one file per config (PyPI: triton, 3.4 or newer; no
GPU is needed)."""
import dataclasses
import functools
import itertools
import os
import pathlib
from typing import Any, Dict, List, Sequence, Set, Tuple, Type

from tuneonce.export import constants, dtype_set, triton_descriptor, triton_tile_ir
from tuneonce.export.compile_ahead import compile_ahead, time_limit
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.triton_artifacts import Artifacts, CompileError
from tuneonce.export.triton_kernel import TritonKernel, note
from tuneonce.export.triton_scratch import with_scratch
from tuneonce.triton.compile_pool import most_workers

# Triton adds line information with paths of this machine, which is two thirds of the size of a cubin with PTX. Set the
# variable to 0 to keep it.
os.environ.setdefault("TRITON_DISABLE_LINE_INFO", "1")


def export(kernel: Any, name: str, declaration: Declaration, folder: pathlib.Path, capabilities: Sequence[int],
           source: str = "ptx", in_processes: bool = False) -> Tuple[Declaration, List[Dict[str, Any]], Dict[str, List[str]]]:
    """Writes the code, "ptx" or "cubin", into `folder`. Returns the declaration, with the kernel's own configs if it is
    autotuned, the manifest's variants: for each capability (90 for 9.0) one for arguments as Triton's JIT likes them,
    those for unaligned dims, and a general one; and the PTX of each, by name. `in_processes`: several configs compile at a time, in forks
    of this process. Where ENABLE_TILE=1 selects Triton's Tile IR
    back end, the same variants of it are added, in a race."""
    if declaration.space is not None:
        raise DeclarationError(f"the space of kernel '{name}' is named, and a family's hints are cuTile's: for Triton list the "
                               "space in axes or configs, with hints of its own (num_warps, num_stages); `tuneonce space "
                               "show` has the tiles")
    capabilities = sorted(set(capabilities))
    with_tile_ir = triton_tile_ir.is_wanted(name, declaration)
    kernels = [(TritonKernel(kernel, name, of_dtype, with_tile_ir), dtype) for of_dtype, dtype in dtype_set.each(declaration)]
    if with_tile_ir:
        for kernel_of, _ in kernels:
            kernel_of.declaration = triton_tile_ir.raced(kernel_of.declaration)
    kinds = [Artifacts, *([triton_tile_ir.TileIrArtifacts] if with_tile_ir else [])]
    of_kinds = [[(chain, dtype) for kernel_of, dtype in kernels for chain in chains_of(kernel_of, capabilities, kind)]
                for kind in kinds]
    kernels_of = [kernel_of for kernel_of, _ in kernels]
    for chains in of_kinds:
        compile_all(kernels_of, [each for chain, _ in chains for each in chain.values()], in_processes)
    first = kernels_of[0]
    artifacts = [each for chain, _ in of_kinds[0] for each in chain.values()]
    if any(each.waits_in_vain() for each in artifacts):
        note(name, "its launches will not overlap with the launch before them: the code waits for that (gdc_wait), but "
                   "launch_pdl is not set; give the declaration constants={'launch_pdl': True} where the kernel's own "
                   "launches set it")
    variants: List[Dict[str, Any]] = []
    ptx: Dict[str, List[str]] = {}
    for chain, dtype in itertools.chain(*of_kinds):
        for suffix, each in without_doubles(chain).items():
            behind = "_".join(part for part in (suffix, dtype) if part)
            variants.append({**each.variant(folder, source, behind), "targets": each.targets(capabilities)})
            if each.backend == Artifacts.backend:
                ptx[variants[-1]["name"]] = each.code()
    # Its parameters are those declared: with the first dtype.
    declaration = dataclasses.replace(first.declaration, dtypes=declaration.dtypes, of_dtype=None)
    declaration = with_descriptors(declaration, artifacts)
    scratch = max(each.scratch_bytes for each in artifacts)
    return (with_scratch(declaration, scratch) if scratch else declaration), variants, ptx


def compile_all(kernels: Sequence[TritonKernel], artifacts: Sequence[Artifacts], in_processes: bool) -> None:
    """Compiles all configs of one back end. One of the kernel's own that does not compile is left out of `kernels`."""
    first, backend = kernels[0], artifacts[0].backend
    configs = first.declaration.all_configs(backend)
    late: Set[int] = set()
    if in_processes and len(configs) * len(artifacts) > 1:
        late = compile_ahead(first.name, [functools.partial(each.compile, config) for config in configs for each in artifacts],
                             most_workers())
    for number, config in enumerate(configs):
        try:
            if any(number * len(artifacts) + i in late for i in range(len(artifacts))):
                raise CompileError(f"kernel '{first.name}', config {config}: it did not compile within {time_limit():g} s")
            compiled = [(each, each.compile(config)) for each in artifacts]
        except CompileError as error:
            if not first.has_own_configs:
                raise
            note(first.name, f"left out, as Triton itself would: {error}")
            for kernel_of in kernels:
                kernel_of.leave_out(config, backend)
            continue
        for each, code in compiled:
            each.add(config, code)


def chains_of(kernel_of: TritonKernel, capabilities: Sequence[int], kind: Type[Artifacts]) -> List[Dict[str, Artifacts]]:
    """For each capability and the extents that are constants: by suffix, the variants that stand in for each other, the one that
    assumes most first."""
    groups = {"_".join(["unaligned", *group]): group for group in kernel_of.declaration.unaligned}
    return [{"": kind(kernel_of, c, extents, False),
             **{suffix: kind(kernel_of, c, extents, False, group) for suffix, group in groups.items()},
             "any": kind(kernel_of, c, extents, True)}
            for c in capabilities for extents in constants.extents(kernel_of.declaration.constants)]


def without_doubles(chain: Dict[str, Artifacts]) -> Dict[str, Artifacts]:
    """By suffix, the one that assumes most first. Where two have the same code, that of the later one assumes less."""
    all_of = list(chain.values())
    kept = {suffix: each for i, (suffix, each) in enumerate(chain.items()) if not any(each.has_code_of(o) for o in all_of[i + 1:])}
    return kept if len(kept) > 1 else {"": all_of[-1]}


def with_descriptors(declaration: Declaration, artifacts: Sequence[Artifacts]) -> Declaration:
    """The declaration with its descriptors as Triton's code wants them, and what is passed behind each."""
    parameters, more = [], []
    for parameter in declaration.parameters:
        configs = [row for each in artifacts for row in each.descriptors().get(parameter.get("name", ""), [])]
        if configs:
            more += triton_descriptor.passed_behind(parameter, declaration)
            parameter = triton_descriptor.as_compiled(parameter, configs)
        parameters.append(parameter)
    return dataclasses.replace(declaration, parameters=parameters, more_parameters=[*declaration.more_parameters, *more])
