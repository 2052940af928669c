#!/usr/bin/env python3
"""Public Triton kernels with one changed line, `triton.autotune = tuneonce.triton.autotune` before their import.

    one_line.py --packages FOLDER --results FOLDER [--only PART ...] [--stop-after SECONDS]

Kernels of vLLM, SGLang and unsloth, whose packages need more than these to be imported, are cut out of their files and get the
decorator above them. --packages: a folder of unpacked packages (README.md says how to make one). Each operator runs forward and backward with ours in one
process, and in another one by Triton's own autotuner, which is given the configs that ours selected, so that the bits must be equal.
What was run before is in --results and is not run again. Needs torch with CUDA, triton and tuneonce on PYTHONPATH."""
import argparse
import ast
import importlib
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys
import time
import types
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Sequence, Tuple

# Batch, sequence, heads, extents of keys and values of the operators' inputs.
B, T, H, K, V = 2, 1024, 4, 64, 64


class Operator(NamedTuple):
    """`call`: from the inputs, by name, to a tensor or a tuple with tensors; `inputs`: makes them. Floating ones have gradients."""
    inputs: Callable[[], Dict[str, Any]]
    call: Callable[..., Any]


def normal(*shape: int, dtype: str = "bfloat16") -> Any:
    import torch
    return torch.randn(*shape, device="cuda", dtype=getattr(torch, dtype))


def log_decay(*shape: int, dtype: str = "float32") -> Any:
    """Logarithms of numbers below 1."""
    import torch
    return torch.nn.functional.logsigmoid(normal(*shape, dtype="float32")).to(getattr(torch, dtype))


def unit(*shape: int) -> Any:
    import torch
    return torch.nn.functional.normalize(normal(*shape, dtype="float32"), dim=-1).to(torch.bfloat16)


def gate(*shape: int, dtype: str = "bfloat16") -> Any:
    return normal(*shape, dtype="float32").sigmoid().to(normal(1, dtype=dtype).dtype)


def qkv(**more: Any) -> Dict[str, Any]:
    return {"q": normal(B, T, H, K), "k": normal(B, T, H, K), "v": normal(B, T, H, V), **more}


def unit_qkv(**more: Any) -> Dict[str, Any]:
    return {"q": unit(B, T, H, K), "k": unit(B, T, H, K), "v": normal(B, T, H, V), **more}


def of_fla(module: str, name: str, **options: Any) -> Callable[..., Any]:
    def call(**inputs: Any) -> Any:
        return getattr(importlib.import_module(f"fla.{module}"), name)(**inputs, **options)
    return call


CUT_OUTS = pathlib.Path()  # The modules of cut_out, which both processes import. Set by main.


def cut_out(path: str, kernel: str, blocks: Sequence[int] = ()) -> Any:
    """The kernel `kernel` of the file packages/`path` without what else it has, with all numbers of warps, and with all of
    BLOCK_SIZE, if `blocks` has any, to tune."""
    name = f"cut_{kernel.strip('_')}"
    if name not in sys.modules:
        source = next(pathlib.Path(folder, path) for folder in sys.path if pathlib.Path(folder, path).is_file()).read_text()
        function = next(n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef) and n.name == kernel)
        configs = [f"triton.Config({{'BLOCK_SIZE': {block}}}, num_warps={warps})" if block else f"triton.Config({{}}, num_warps={warps})"
                   for block in blocks or [0] for warps in (1, 2, 4, 8)]
        text = ["import torch", "import triton", "import triton.language as tl", "float8_info = torch.finfo(torch.float8_e4m3fn)",
                f"@triton.autotune(configs=[{', '.join(configs)}], key=[])", ast.unparse(function)]
        (CUT_OUTS / f"{name}.py").write_text("\n".join(text) + "\n")
    return getattr(importlib.import_module(name), kernel)


def unsloth_rms_norm(x: Any, weight: Any) -> Any:
    import torch
    y, r = torch.empty_like(x), torch.empty(x.shape[0], device=x.device)
    kernel = cut_out("unsloth/kernels/rms_layernorm.py", "_rms_layernorm_forward")
    kernel[(x.shape[0],)](y, x, weight, r, y.stride(0), x.stride(0), 1, 1, x.shape[1], 1e-6, 0, 512)
    return y, r


def unsloth_swiglu(e: Any, g: Any) -> Any:
    import torch
    h, n = torch.empty_like(e), e.numel()
    kernel = cut_out("unsloth/kernels/swiglu.py", "_fg_kernel", (512, 1024, 2048))
    kernel[lambda meta: (-(-n // meta["BLOCK_SIZE"]),)](e, g, h, n, LONG_INDEXING=0)
    return h


def sglang_rms_norm(x: Any, weight: Any) -> Any:
    import torch
    y = torch.empty_like(x)
    cut_out("sglang/srt/layers/elementwise.py", "fused_rmsnorm_kernel")[(x.shape[0],)](y, x, weight, 1e-6, x.shape[1], 512)
    return y


def sglang_softcap(x: Any) -> Any:
    import torch
    y, n = torch.empty_like(x, dtype=torch.float32), x.numel()
    kernel = cut_out("sglang/srt/layers/elementwise.py", "fused_softcap_kernel", (128, 256, 1024, 4096))
    kernel[lambda meta: (-(-n // meta["BLOCK_SIZE"]),)](y, x, n, 30.0)
    return y


def vllm_merge_attention(prefix: Any, prefix_lse: Any, suffix: Any, suffix_lse: Any) -> Any:
    import torch
    tokens, heads, size = prefix.shape
    output, lse = torch.empty_like(prefix), torch.empty_like(prefix_lse)
    kernel = cut_out("vllm/v1/attention/ops/triton_merge_attn_states.py", "merge_attn_states_kernel")
    strides = [value for each in (prefix_lse, suffix_lse, lse) for value in each.stride()]
    kernel[(tokens, heads)](output, lse, prefix, prefix_lse, suffix, suffix_lse, prefix.stride(1), output.stride(1), *strides, None,
                            tokens - 5, size, size, True, False)
    return output, lse


def cross_entropy(e: Any, c: Any, targets: Any) -> Any:
    from cut_cross_entropy import linear_cross_entropy
    return linear_cross_entropy(e, c, targets, impl="cce")


def fla_targets() -> Any:
    import torch
    return torch.randint(0, 4096, (B * T,), device="cuda")


def tokens() -> Dict[str, Any]:
    return {"x": normal(B, T, 512)}


OPERATORS: Dict[str, Operator] = {
    "retention": Operator(qkv, of_fla("ops.retention", "chunk_retention")),
    "fused_recurrent_retention": Operator(qkv, of_fla("ops.retention", "fused_recurrent_retention")),
    "parallel_retention": Operator(qkv, of_fla("ops.retention", "parallel_retention")),
    "gla": Operator(lambda: qkv(g=log_decay(B, T, H, K)), of_fla("ops.gla", "chunk_gla")),
    "fused_recurrent_gla": Operator(lambda: qkv(gk=log_decay(B, T, H, K)), of_fla("ops.gla", "fused_recurrent_gla")),
    "simple_gla": Operator(lambda: qkv(g=log_decay(B, T, H)), of_fla("ops.simple_gla", "chunk_simple_gla")),
    "parallel_simple_gla": Operator(lambda: qkv(g=log_decay(B, T, H)), of_fla("ops.simple_gla", "parallel_simple_gla")),
    "linear_attn": Operator(qkv, of_fla("ops.linear_attn", "chunk_linear_attn", normalize=False)),
    "lightning_attn": Operator(qkv, of_fla("ops.lightning_attn", "chunk_lightning_attn", layer_idx=1, num_layers=4)),
    "delta_rule": Operator(lambda: unit_qkv(beta=gate(B, T, H)), of_fla("ops.delta_rule", "chunk_delta_rule")),
    "fused_recurrent_delta_rule": Operator(lambda: unit_qkv(beta=gate(B, T, H)),
                                           of_fla("ops.delta_rule", "fused_recurrent_delta_rule")),
    "gated_delta_rule": Operator(lambda: unit_qkv(g=log_decay(B, T, H), beta=gate(B, T, H)),
                                 of_fla("ops.gated_delta_rule", "chunk_gated_delta_rule")),
    "kda": Operator(lambda: unit_qkv(g=log_decay(B, T, H, K), beta=gate(B, T, H)), of_fla("ops.kda", "chunk_kda")),
    "comba": Operator(lambda: unit_qkv(p=unit(B, T, H, K), g=log_decay(B, T, H), beta=gate(B, T, H)),
                      of_fla("ops.comba", "chunk_comba")),
    "rwkv6": Operator(lambda: {"r": normal(B, T, H, K), "k": normal(B, T, H, K), "v": normal(B, T, H, V),
                                      "w": log_decay(B, T, H, K), "u": normal(H, K)}, of_fla("ops.rwkv6", "chunk_rwkv6")),
    "gsa": Operator(lambda: qkv(s=normal(B, T, H, 32), g=log_decay(B, T, H, 32)), of_fla("ops.gsa", "chunk_gsa")),
    "hgrn": Operator(lambda: {"x": normal(B, T, 512), "g": log_decay(B, T, 512, dtype="bfloat16")},
                     of_fla("ops.hgrn", "fused_recurrent_hgrn")),
    "attn": Operator(qkv, of_fla("ops.attn", "parallel_attn")),
    "forgetting_attn": Operator(lambda: qkv(g=log_decay(B, T, H)), of_fla("ops.forgetting_attn", "parallel_forgetting_attn")),
    "path_attn": Operator(lambda: qkv(w=unit(B, T, H, K).float(), beta=gate(B, T, H, dtype="float32"), g=log_decay(B, T, H)),
                          of_fla("ops.path_attn", "parallel_path_attn")),
    "global_cumsum": Operator(lambda: {"s": normal(B, T, H, K, dtype="float32")},
                              of_fla("ops.utils.cumsum", "chunk_global_cumsum_vector")),
    "mean_pooling": Operator(lambda: {"x": normal(B, T, H, K)}, of_fla("ops.utils.pooling", "mean_pooling", chunk_size=64)),
    "softmax": Operator(lambda: {"x": normal(B, T, 512)}, of_fla("ops.utils.softmax", "softmax_fwd")),
    "logsumexp": Operator(lambda: {"x": normal(B * T, 512)}, of_fla("ops.utils.logsumexp", "logsumexp_fwd")),
    "matmul": Operator(lambda: {"a": normal(1, 1024, 512), "b": normal(512, 1024)}, of_fla("ops.utils.matmul", "matmul")),
    "l2norm": Operator(tokens, of_fla("modules.norm.l2norm", "l2norm")),
    "rms_norm": Operator(lambda: {"x": normal(B, T, 512), "weight": normal(512), "bias": normal(512)},
                         of_fla("modules.norm.layernorm", "rms_norm")),
    "rms_norm_gated": Operator(lambda: {"x": normal(B, T, 512), "g": normal(B, T, 512), "weight": normal(512), "bias": normal(512)},
                               of_fla("modules.norm.fused_norm_gate", "rms_norm_gated")),
    "causal_conv1d": Operator(lambda: {"x": normal(B, T, 512), "weight": normal(512, 4), "bias": normal(512)},
                              of_fla("modules.causal_conv1d.ops", "causal_conv1d", activation="silu")),
    "token_shift": Operator(tokens, of_fla("modules.token_shift", "token_shift")),
    "logsigmoid": Operator(tokens, of_fla("modules.activations.ops", "logsigmoid")),
    "swish": Operator(tokens, lambda x: importlib.import_module("fla.modules.activations.ops").SwishFunction.apply(x)),
    "swiglu": Operator(lambda: {"x": normal(B, T, 512), "y": normal(B, T, 512)},
                       lambda x, y: importlib.import_module("fla.modules.activations.ops").SwiGLUFunction.apply(x, y)),
    "cross_entropy": Operator(lambda: {"e": normal(B * T, 512), "c": normal(4096, 512), "targets": fla_targets()},
                              cross_entropy),
    "unsloth_rms_norm": Operator(lambda: {"x": normal(B * T, 500), "weight": normal(500)}, unsloth_rms_norm),
    "unsloth_swiglu": Operator(lambda: {"e": normal(B, T, 500), "g": normal(B, T, 500)}, unsloth_swiglu),
    "sglang_rms_norm": Operator(lambda: {"x": normal(B * T, 500), "weight": normal(500)}, sglang_rms_norm),
    "sglang_softcap": Operator(lambda: {"x": normal(B * T, 500)}, sglang_softcap),
    "vllm_merge_attention": Operator(lambda: {"prefix": normal(T, H, K), "prefix_lse": normal(H, T, dtype="float32"),
                                              "suffix": normal(T, H, K), "suffix_lse": normal(H, T, dtype="float32")},
                                     vllm_merge_attention),
}


class Kernels:
    """The kernels that are made while packages are imported, by name."""

    def __init__(self, autotune: Callable[..., Any]) -> None:
        self._autotune = autotune
        self.made: Dict[str, Any] = {}

    def autotune(self, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        decorate = self._autotune(*args, **kwargs)

        def decorated(fn: Any) -> Any:
            kernel = decorate(fn)
            base = f"{kernel.base_fn.__module__}.{kernel.base_fn.__name__}"
            name, count = base, 1
            while name in self.made:
                count += 1
                name = f"{base}#{count}"
            self.made[name] = kernel
            return kernel
        return decorated

    def replace(self) -> None:
        """The one line. flash-linear-attention also has a decorator of its own, which becomes ours, too. cut-cross-entropy tunes only
        if a variable of the environment says so."""
        import triton
        os.environ["CCE_AUTOTUNE"] = "1"
        triton.autotune = self.autotune
        own = types.ModuleType("fla.ops.utils.cache")
        own.fla_cache_autotune = self.autotune
        sys.modules["fla.ops.utils.cache"] = own


def tensors_of(value: Any) -> List[Any]:
    import torch
    if isinstance(value, (tuple, list)):
        return [t for each in value for t in tensors_of(each)]
    return [value] if isinstance(value, torch.Tensor) else []


def has_bits_of(a: Any, b: Any) -> bool:
    import torch
    return a.shape == b.shape and a.dtype == b.dtype and torch.equal(*(t.contiguous().reshape(-1).view(torch.uint8) for t in (a, b)))


def run(operator: Operator) -> Tuple[List[Any], Dict[str, float]]:
    """The outputs and gradients, and seconds of the first call and microseconds of a later one."""
    import torch
    torch.manual_seed(0)
    inputs = operator.inputs()

    def once() -> List[Any]:
        given = {n: v.detach().requires_grad_(v.is_floating_point()) if isinstance(v, torch.Tensor) else v for n, v in inputs.items()}
        outputs = tensors_of(operator.call(**given))
        results = list(outputs)
        differentiable = [o for o in outputs if o.requires_grad]
        if differentiable:
            torch.manual_seed(1)
            leaves = [v for v in given.values() if isinstance(v, torch.Tensor) and v.requires_grad]
            gradients = torch.autograd.grad(differentiable, leaves, [torch.randn_like(o) for o in differentiable], allow_unused=True)
            results += [g for g in gradients if g is not None]
        return [r.detach() for r in results]

    begin = time.perf_counter()
    once()
    torch.cuda.synchronize()
    first = time.perf_counter() - begin
    results = once()
    torch.cuda.synchronize()
    times = []
    for _ in range(20):
        begin = time.perf_counter()
        once()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return [r.cpu() for r in results], {"first_s": first, "later_us": sorted(times)[10] * 1e6}


def config_of(config: Any) -> Dict[str, Any]:
    return dict(config.all_kwargs())


def run_ours(names: Sequence[str], folder: pathlib.Path, stop_at: float) -> None:
    import torch
    import tuneonce.triton
    kernels = Kernels(tuneonce.triton.autotune)
    kernels.replace()
    for name in names:
        if time.time() > stop_at:
            return
        before = {n: dict(k.cache) for n, k in kernels.made.items()}
        result: Dict[str, Any] = {"operator": name}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                results, result["ours"] = run(OPERATORS[name])
                torch.save(results, folder / f"{name}.pt")
            except Exception as error:  # Of a package that is missing, or of an operator.
                result["error"] = f"{type(error).__name__}: {error}".splitlines()[0]
        result["kernels"] = {n: [[repr(key), config_of(config)] for key, config in k.cache.items() if key not in before.get(n, {})]
                             for n, k in kernels.made.items() if k.cache.keys() - before.get(n, {}).keys()}
        result["modules"] = sorted({kernels.made[n].base_fn.__module__ for n in result["kernels"]})
        result["notes"] = sorted({str(w.message) for w in caught if "tuneonce" in str(w.message) or "own autotuner" in str(w.message)})
        (folder / f"{name}.ours.json").write_text(json.dumps(result))
        print(f"ours: {name}: {len(result['kernels'])} kernels{'; ' + result['error'] if 'error' in result else ''}", flush=True)


def run_triton(names: Sequence[str], folder: pathlib.Path) -> None:
    import triton
    kernels = Kernels(triton.autotune)
    kernels.replace()
    for name in names:
        result = json.loads((folder / f"{name}.ours.json").read_text())
        if "error" not in result:
            try:
                run_with_configs(name, result, kernels, folder)
            except Exception as error:
                result["error"] = f"by Triton: {type(error).__name__}: {error}".splitlines()[0]
        (folder / f"{name}.json").write_text(json.dumps(result))
        print(line_of(result), flush=True)


def run_with_configs(name: str, result: Dict[str, Any], kernels: Kernels, folder: pathlib.Path) -> None:
    """Runs an operator by Triton's autotuner with the configs that ours selected, and compares the bits."""
    import torch
    operator = OPERATORS[name]
    for module in result["modules"]:
        importlib.import_module(module)
    unknown: List[str] = []
    for kernel_name, kernel in kernels.made.items():
        for key, config in result["kernels"].get(kernel_name, []):
            found = next((c for c in kernel.configs if config_of(c) == config), None)
            if found is None:
                unknown.append(kernel_name)
            else:
                kernel.cache[eval(key, {"torch": torch})] = found  # What this script wrote.
    known = {n: set(k.cache) for n, k in kernels.made.items()}
    results, result["triton"] = run(operator)
    of_ours = torch.load(folder / f"{name}.pt")
    result["searched_by_triton"] = sorted(n for n, k in kernels.made.items() if set(k.cache) - known.get(n, set())) + unknown
    result["outputs"] = len(results)
    result["equal"] = sum(has_bits_of(a, b) for a, b in zip(of_ours, results))
    again, _ = run(operator)
    result["equal_again"] = sum(has_bits_of(a, b) for a, b in zip(results, again))


def line_of(result: Dict[str, Any]) -> str:
    if "error" in result:
        return f"{result['operator']:28} FAILED  {result['error']}"
    verdict = "same bits" if result["equal"] == result["outputs"] else (
        "not deterministic" if result["equal_again"] < result["outputs"] else "OTHER BITS")
    more = f"; by Triton: {', '.join(result['searched_by_triton'])}" if result["searched_by_triton"] else ""
    notes = f"; {result['notes'][0]}" if result["notes"] else ""
    return (f"{result['operator']:28} {verdict}: {result['equal']} of {result['outputs']}, {len(result['kernels'])} kernels, "
            f"first {result['ours']['first_s']:.1f} s, later {result['ours']['later_us']:.0f} us (Triton {result['triton']['later_us']:.0f})"
            f"{more}{notes}")


def print_summary(folder: pathlib.Path, packages: pathlib.Path) -> None:
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json")) if not path.name.endswith(".ours.json")]
    selected: Dict[str, Any] = {}
    for result in results:
        for kernel, entries in result["kernels"].items():
            selected.setdefault(kernel, []).extend(config for _, config in entries)
    for kernel, configs in sorted(selected.items()):
        print(f"kernel {kernel}: {len(configs)} keys, last {configs[-1]}")
    versions = {d.metadata["Name"]: d.version for d in importlib.metadata.distributions(path=[str(packages)])}
    same = sum("error" not in r and r["equal"] == r["outputs"] for r in results)
    print(f"{same} of {len(results)} operators have the same bits; {len(selected)} kernels were tuned; {versions}")
    (folder / "all.jsonl").write_text("".join(json.dumps({**r, "versions": versions}) + "\n" for r in results))


def main() -> None:
    global CUT_OUTS
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=pathlib.Path, required=True)
    parser.add_argument("--results", type=pathlib.Path, required=True)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--stop-after", type=float, default=400, help="seconds after which no other operator begins")
    parser.add_argument("--child", choices=("ours", "triton"), help=argparse.SUPPRESS)
    parser.add_argument("--stop-at", type=float, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    folder = arguments.results
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [n for n in OPERATORS if not arguments.only or any(part in n for part in arguments.only)]
    if arguments.child:
        CUT_OUTS = folder / "cut_outs"
        CUT_OUTS.mkdir(exist_ok=True)
        sys.path[:0] = [str(arguments.packages), str(CUT_OUTS)]
        if arguments.child == "ours":
            run_ours([n for n in wanted if not (folder / f"{n}.ours.json").exists()], folder, arguments.stop_at)
        else:
            run_triton([n for n in wanted if (folder / f"{n}.ours.json").exists() and not (folder / f"{n}.json").exists()], folder)
        return
    stop_at = time.time() + arguments.stop_after
    for child in ("ours", "triton"):
        subprocess.run([sys.executable, __file__, *sys.argv[1:], "--child", child, "--stop-at", str(stop_at)], check=False)
    print_summary(folder, arguments.packages)


if __name__ == "__main__":
    main()
