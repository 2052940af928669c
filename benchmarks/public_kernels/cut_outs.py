"""cut_outs.py SOURCES OUT: cuts Triton kernels out of packages that cannot be imported without a GPU or all that they need,
each into a module of its own that imports Triton alone, so that the exporter can read it.

SOURCES has a folder per project, in which its package lies (SOURCES/vllm/vllm/...). OUT gets PROJECT/KERNEL.py.
"""
import argparse
import ast
import pathlib
import textwrap
from typing import List, NamedTuple, Optional, Set

import kernel_list


class Cut(NamedTuple):
    """inside: the function of the module within which the kernel is defined."""
    project: str
    file: str
    kernel: str
    inside: Optional[str] = None


CUTS = [
    Cut("gemlite", "gemlite/quant_utils.py", "scale_activations_mxfp8_triton_v1_kernel"),
    Cut("gemlite", "gemlite/quant_utils.py", "scale_activations_per_token_kernel"),
    Cut("sglang", "sglang/srt/batch_invariant_ops/batch_invariant_ops.py", "_log_softmax_kernel"),
    Cut("sglang", "sglang/srt/mem_cache/common.py", "get_last_loc_kernel"),
    Cut("torchao", "torchao/kernel/blockwise_quantization.py", "blockwise_fp8_gemm_kernel", "_build_triton_impls"),
    Cut("torchao", "torchao/kernel/intmm_triton.py", "matmul_kernel_with_block_pointers"),
    Cut("unsloth", "unsloth/kernels/geglu.py", "_exact_backward_kernel"),
    Cut("unsloth", "unsloth/kernels/swiglu.py", "_fg_kernel"),
    Cut("vllm", "vllm/model_executor/layers/lightning_attn.py", "_fwd_diag_kernel"),
    Cut("vllm", "vllm/model_executor/layers/fused_moe/fused_moe.py", "fused_moe_kernel"),
]
# What a module asks about its environment, by the text of the condition, as it is on an NVIDIA GPU.
ANSWERS = {"IS_HIP": False, "TYPE_CHECKING or HAS_TRITON": True}
ROOT = "cut_outs_root"


def body_of(source: str, function: str) -> str:
    """A function's body as a module's text."""
    node = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == function)
    return text_of(source, node.body)


def text_of(source: str, nodes: List[ast.stmt]) -> str:
    """Statements' lines from the first to the last, dedented, with decorators and comments in between."""
    first = min([nodes[0].lineno] + [d.lineno for d in getattr(nodes[0], "decorator_list", ())])
    return textwrap.dedent("\n".join(source.split("\n")[first - 1:nodes[-1].end_lineno]))


def settled(source: str) -> str:
    """A module with the branch that ANSWERS takes in place of each of its own `if` statements."""
    rows = source.split("\n")
    for node in reversed(ast.parse(source).body):  # From behind: lines before it stay where they are.
        if isinstance(node, ast.If) and ast.unparse(node.test) in ANSWERS:
            branch = node.body if ANSWERS[ast.unparse(node.test)] else node.orelse
            rows[node.lineno - 1:node.end_lineno] = text_of(source, branch).split("\n") if branch else []
    return "\n".join(rows)


def needed(source: str, names: Set[str]) -> str:
    """definitions_of for some of a module's names instead of for all its kernels: while it looks, only a function that uses
    the names is under a jit."""
    hidden = source.replace("jit", "j1t")
    module = kernel_list.definitions_of(f"{hidden}\n@jit\ndef {ROOT}():\n    {'; '.join(sorted(names))}\n")
    rows = module[:module.index("\n@jit\n")].replace("j1t", "jit").split("\n")
    return "\n".join(row for row in rows if row.strip())


def module_file(sources: pathlib.Path, project: str, file: str, node: ast.ImportFrom) -> Optional[pathlib.Path]:
    """The file of the package that a `from ... import` reads; None for another package."""
    package = list(pathlib.PurePath(file).parent.parts)
    parts = (package[:len(package) - node.level + 1] if node.level else []) + (node.module or "").split(".")
    path = sources.joinpath(project, *parts)
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if parts[0] == project and f.is_file()), None)


def cut(sources: pathlib.Path, project: str, file: str, names: Set[str], inside: Optional[str] = None) -> str:
    """What `names` need of a file, and of the package's other files in place of the imports of these."""
    source = (sources / project / file).read_text()
    source = needed(settled(body_of(source, inside) if inside else source), names)
    rows = source.split("\n")
    body = ast.parse(source).body
    used = {n for node in body for n in kernel_list.free_names(node)} | names
    for node in reversed(body):
        theirs = module_file(sources, project, file, node) if isinstance(node, ast.ImportFrom) else None
        if theirs is not None:
            wanted = {a.name for a in node.names if a.name in used}
            assert not any(a.asname for a in node.names), f"{file}:{node.lineno} renames what it imports"
            text = cut(sources, project, str(theirs.relative_to(sources / project)), wanted)
            rows[node.lineno - 1:node.end_lineno] = text.split("\n")
    return "\n".join(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    for each in CUTS:
        module = cut(arguments.sources, each.project, each.file, {each.kernel}, each.inside)
        path = arguments.out / each.project / f"{each.kernel}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Cut out of {each.file} of {each.project} by cut_outs.py.\n{module}\n")
        print(f"{path}: {len(module.splitlines())} lines")


if __name__ == "__main__":
    main()
