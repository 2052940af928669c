#!/usr/bin/env python3
"""The language model of llm.cc in PyTorch: each kernel is a bundle as a custom op, under torch.compile.

llm.py [--device cpu|cuda] [--size tiny|small] [--bundles FOLDER] [--ops tuneonce|torch] [--time]

The weights and prompts are those of tuneonce_llm, so that the tokens are, too. Everything is generated twice, eagerly and
compiled (torch.compile, fullgraph), which must agree. `--bundles`: read from there, compiled ahead, say. `--ops torch`: the
same model by PyTorch's own operators, to compare with. `--time`: the host's time of a step of one sequence, eagerly, compiled
and, on a GPU, as a CUDA graph. Needs torch and, but for `--ops torch`, tuneonce.
"""
import argparse
import dataclasses
import pathlib
import statistics
import sys
import time
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Sequence, Tuple

import numpy as np
import torch
import torch.nn.functional as F

HEAD_DIM = 128
HERE = pathlib.Path(__file__).resolve().parent
OWN = ["gather_rows", "rotary_tables", "append_kv", "add_rows", "next_token"]
SHIPPED = ["rms_norm", "matmul", "rope", "varlen_attention", "decode_attention", "dual_gemm"]


@dataclasses.dataclass
class Shape:
    """As ModelShape in weights.h, with the buckets of llm.cc."""
    layers: int = 2
    hidden: int = 256
    heads: int = 4
    kv_heads: int = 2
    inner: int = 256
    vocab: int = 256
    context: int = 64
    prefill_tokens: Tuple[int, ...] = (16, 64)
    decode_sequences: Tuple[int, ...] = (1, 2, 4)
    steps: int = 5


SIZES = {"tiny": Shape(), "small": Shape(16, 1536, 12, 4, 4096, 32768, 2048, (256, 2048), (1, 4, 16), 64)}
ROPE_BASE, EPS, SCALE = 10000.0, 1e-5, HEAD_DIM ** -0.5


def hashed(x: np.ndarray) -> np.ndarray:
    """As Hash in weights.cc, of 32-bit numbers."""
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        x = (x ^ (x >> np.uint32(shift))) * np.uint32(factor)
    return x ^ (x >> np.uint32(16))


def weight(which: str, rows: int, columns: int, layer: int = 0) -> torch.Tensor:
    """As MakeWeight in weights.cc: the same bits."""
    order = ["embedding", "norm", "logits", "query", "key", "value", "output", "gate", "up", "down"]
    exponent = 0
    while which != "embedding" and 0.25 ** exponent > 3.0 / rows:
        exponent += 1
    seed = hashed(np.array([layer * 16 + order.index(which) + 1], dtype=np.uint32))[0]
    random = (hashed(np.arange(rows * columns, dtype=np.uint32) ^ seed) >> np.uint32(21)).astype(np.int32)
    return torch.from_numpy(((random - 1024) * 2.0 ** (-10 - exponent)).astype(np.float16)).reshape(rows, columns)


def tuneonce_ops(device: str, bundles: str) -> SimpleNamespace:
    """The kernels by name: bundles as custom ops."""
    import tuneonce.torch

    def op(name: str, **more: Any) -> Any:
        folder = f"{bundles}/{name}" if bundles else str(HERE / "bundles" / name) if name in OWN else name
        made[name] = tuneonce.torch.custom_op(f"llm::{name}", folder, device=device, **more)
        return made[name]

    made: Dict[str, Any] = {}
    tables = op("rotary_tables", dims={"R": lambda dims: HEAD_DIM // 2})
    norm, prefill, decode, choose = op("rms_norm"), op("varlen_attention"), op("decode_attention"), op("next_token")
    return SimpleNamespace(
        gather_rows=op("gather_rows"), matmul=op("matmul"), dual_gemm=op("dual_gemm"), add_rows=op("add_rows").inplace,
        append_kv=op("append_kv").inplace, rope=op("rope").inplace, rotary_tables=lambda positions: tables(positions, ROPE_BASE),
        rms_norm=lambda x, w: norm(x, w, EPS), next_token=choose,
        varlen_attention=lambda q, k, v, offsets: prefill(q, k, v, offsets, SCALE, True),
        decode_attention=lambda q, k, v, lengths, counters: decode(q, k, v, lengths, counters, SCALE)[0],
        kernels=[each.kernel for each in made.values()])


def torch_ops() -> SimpleNamespace:
    """The same by PyTorch's own operators."""

    def tables(positions: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
        columns = torch.arange(HEAD_DIM // 2, device=positions.device) / (HEAD_DIM // 2)
        angles = positions[:, None] * ROPE_BASE ** -columns
        return angles.cos(), angles.sin()

    def rope(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> None:
        low, high = x.float().chunk(2, dim=-1)
        c, s = cos[:, None], sin[:, None]
        x.copy_(torch.cat([low * c - high * s, high * c + low * s], dim=-1))

    def append(k: torch.Tensor, v: torch.Tensor, slots: torch.Tensor, k_cache: torch.Tensor, v_cache: torch.Tensor) -> None:
        # What goes nowhere goes to the last place of the last sequence, which nobody reads before it is written.
        sequences, _, context, _ = k_cache.shape
        at = torch.where(slots < 0, sequences * context - 1, slots).long()
        k_cache[at // context, :, at % context] = k
        v_cache[at // context, :, at % context] = v

    def prefill(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        at = torch.arange(q.shape[0], device=q.device)
        sequence = torch.searchsorted(offsets, at.int(), right=True)
        mask = (sequence[:, None] == sequence) & (at[:, None] >= at)
        heads_first = (x.transpose(0, 1)[None] for x in (q, k, v))
        return F.scaled_dot_product_attention(*heads_first, attn_mask=mask, enable_gqa=True)[0].transpose(0, 1).contiguous()

    def decode(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, lengths: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        mask = torch.arange(k.shape[2], device=q.device) < lengths[:, None]
        return F.scaled_dot_product_attention(q[:, :, None], k, v, attn_mask=mask[:, None, None], enable_gqa=True)[:, :, 0]

    def choose(logits: torch.Tensor, positions: torch.Tensor, lengths: torch.Tensor, context: int) -> Tuple[torch.Tensor, ...]:
        positions = (positions + 1).clamp(max=context - 1)
        slots = torch.arange(len(positions), device=logits.device, dtype=torch.int32) * context + positions
        return logits.argmax(dim=1).int(), positions, (lengths + 1).clamp(max=context), slots

    return SimpleNamespace(
        gather_rows=lambda table, rows: table[rows], matmul=torch.mm, dual_gemm=lambda x, g, u: F.silu(x @ g) * (x @ u),
        add_rows=lambda x, y: y.add_(x), append_kv=append, rope=rope, rotary_tables=tables,
        rms_norm=lambda x, w: F.rms_norm(x, w.shape, w, EPS), next_token=choose, varlen_attention=prefill,
        decode_attention=decode, kernels=[])


class Model:
    """Weights, caches, and steps as functions of tensors."""

    def __init__(self, ops: SimpleNamespace, shape: Shape, device: str) -> None:
        self.ops, self.shape, self.device = ops, shape, device
        width, keys = shape.heads * HEAD_DIM, shape.kv_heads * HEAD_DIM
        of_layer = {"query": (shape.hidden, width), "key": (shape.hidden, keys), "value": (shape.hidden, keys),
                    "output": (width, shape.hidden), "gate": (shape.hidden, shape.inner), "up": (shape.hidden, shape.inner),
                    "down": (shape.inner, shape.hidden)}
        self.layers = [{n: weight(n, *e, layer=i).to(device) for n, e in of_layer.items()} for i in range(shape.layers)]
        self.embedding = weight("embedding", shape.vocab, shape.hidden).to(device)
        self.to_logits = weight("logits", shape.hidden, shape.vocab).to(device)
        self.norm = torch.ones(shape.hidden, dtype=torch.float16, device=device)
        cache = (shape.decode_sequences[-1], shape.kv_heads, shape.context, HEAD_DIM)
        for layer in self.layers:
            layer["k_cache"] = torch.zeros(cache, dtype=torch.float16, device=device)
            layer["v_cache"] = torch.zeros(cache, dtype=torch.float16, device=device)
        self.counters = torch.zeros(cache[0], shape.heads, dtype=torch.int32, device=device)

    def integers(self, values: Sequence[int], room: int, rest: int) -> torch.Tensor:
        return torch.tensor([*values, *[rest] * (room - len(values))], dtype=torch.int32, device=self.device)

    def begin(self, prompts: List[List[int]]) -> Tuple[torch.Tensor, ...]:
        """What prefill takes: tokens, positions, slots, offsets, last rows, last positions, lengths."""
        count = sum(map(len, prompts))
        room = next(b for b in self.shape.prefill_tokens if count <= b)
        most = self.shape.decode_sequences[-1]
        offsets = np.cumsum([0, *map(len, prompts)]).tolist()
        return (self.integers([t for p in prompts for t in p], room, 0),
                self.integers([i for p in prompts for i in range(len(p))], room, 0),
                self.integers([s * self.shape.context + i for s, p in enumerate(prompts) for i in range(len(p))], room, -1),
                self.integers(offsets, most + 1, count), self.integers([o - 1 for o in offsets[1:]], most, 0),
                self.integers([len(p) - 1 for p in prompts], most, 0), self.integers(list(map(len, prompts)), most, 1))

    def prefill(self, tokens: torch.Tensor, positions: torch.Tensor, slots: torch.Tensor, offsets: torch.Tensor,
                last_rows: torch.Tensor, last_positions: torch.Tensor, lengths: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        """Logits, and what decode takes: tokens, positions, lengths, slots."""
        hidden = self.run_layers(tokens, positions, slots,
                                 lambda q, k, v, layer: self.ops.varlen_attention(q, k, v, offsets))
        return self.choose(self.ops.gather_rows(hidden, last_rows), last_positions, lengths)

    def decode(self, tokens: torch.Tensor, positions: torch.Tensor, lengths: torch.Tensor,
               slots: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        n = tokens.shape[0]
        hidden = self.run_layers(tokens, positions, slots, lambda q, k, v, layer: self.ops.decode_attention(
            q, layer["k_cache"][:n], layer["v_cache"][:n], lengths, self.counters[:n]))
        return self.choose(hidden, positions, lengths)

    def run_layers(self, tokens: torch.Tensor, positions: torch.Tensor, slots: torch.Tensor,
                   attend: Callable[..., torch.Tensor]) -> torch.Tensor:
        ops = self.ops
        hidden = ops.gather_rows(self.embedding, tokens)
        cos, sin = ops.rotary_tables(positions)
        for layer in self.layers:
            normed = ops.rms_norm(hidden, self.norm)
            q, k, v = (ops.matmul(normed, layer[n]).view(len(tokens), -1, HEAD_DIM) for n in ("query", "key", "value"))
            ops.rope(q, cos, sin)
            ops.rope(k, cos, sin)
            ops.append_kv(k, v, slots, layer["k_cache"], layer["v_cache"])
            attended = attend(q, k, v, layer).reshape(len(tokens), -1)
            ops.add_rows(ops.matmul(attended, layer["output"]).view(-1), hidden.view(-1))
            inner = ops.dual_gemm(ops.rms_norm(hidden, self.norm), layer["gate"], layer["up"])
            ops.add_rows(ops.matmul(inner, layer["down"]).view(-1), hidden.view(-1))
        return hidden

    def choose(self, hidden: torch.Tensor, positions: torch.Tensor, lengths: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        logits = self.ops.matmul(self.ops.rms_norm(hidden, self.norm), self.to_logits)
        return (logits, *self.ops.next_token(logits, positions, lengths, self.shape.context))


def prompts_of(shape: Shape, count: int) -> List[List[int]]:
    """As Prompts in llm.cc."""
    most = shape.prefill_tokens[-1] // count // 2
    return [[(i * 7919 + s * 104729) % shape.vocab for i in range(most * (s + 1) // count + 1)] for s in range(count)]


def generate(model: Model, prompts: List[List[int]], prefill: Callable[..., Any],
             decode: Callable[..., Any]) -> Tuple[List[List[int]], List[torch.Tensor]]:
    """What was chosen for each prompt, and the logits of each step."""
    bucket = next(b for b in model.shape.decode_sequences if len(prompts) <= b)
    step = prefill(*model.begin(prompts))
    chosen, logits = [], []
    for i in range(model.shape.steps + 1):
        if i > 0:
            step = decode(*state)
        state = [x[:bucket] for x in step[1:]]
        chosen.append(state[0].tolist()[:len(prompts)])
        logits.append(step[0][:len(prompts)].float().cpu())
    return [list(tokens) for tokens in zip(*chosen)], logits


def time_steps(model: Model, compiled: Callable[..., Any], device: str) -> None:
    """The host's time until a step of one sequence is in the stream; the device is waited for in between."""
    def wait() -> None:
        if device == "cuda":
            torch.cuda.synchronize()

    state = [x[:1] for x in model.prefill(*model.begin([[1, 2, 3]]))[1:]]
    ways = {"eager": lambda: model.decode(*state), "compiled": lambda: compiled(*state)}
    if device == "cuda":
        for _ in range(3):
            compiled(*state)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            compiled(*state)
        ways["graph"] = graph.replay
    for name, run in ways.items():
        times = []
        for _ in range(60):
            wait()
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        wait()
        print(f"host time of a step, {name}: {statistics.median(times[10:]) * 1e6:.1f} us", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--size", choices=SIZES, default="tiny")
    parser.add_argument("--bundles", default="")
    parser.add_argument("--ops", choices=["tuneonce", "torch"], default="tuneonce")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    shape = SIZES[options.size]
    ops = torch_ops() if options.ops == "torch" else tuneonce_ops(options.device, options.bundles)
    model = Model(ops, shape, options.device)
    backend = "inductor" if options.device == "cuda" else "aot_eager"  # The latter needs no C++ compiler.
    prefill = torch.compile(model.prefill, fullgraph=True, backend=backend, dynamic=False)
    decode = torch.compile(model.decode, fullgraph=True, backend=backend, dynamic=False)
    agrees = True
    with torch.no_grad():
        for count in (1, 3, shape.decode_sequences[-1]):
            prompts = prompts_of(shape, count)
            tokens, logits = generate(model, prompts, model.prefill, model.decode)
            compiled_tokens, compiled_logits = generate(model, prompts, prefill, decode)
            difference = max((a - b).abs().max().item() for a, b in zip(logits, compiled_logits))
            is_same = tokens == compiled_tokens and difference < 0.01
            agrees = agrees and is_same
            print(f"{count} sequences, {shape.steps} steps: compiled {'the same' if is_same else 'DIFFERENT'}, largest difference "
                  f"of a logit {difference:.4f}\ntokens: {' '.join(map(str, tokens[0]))}", flush=True)
        if options.time:
            time_steps(model, decode, options.device)
    # Inductor fuses PyTorch's own operators and rounds otherwise: then one token may be another, and all behind it.
    return 0 if agrees or options.ops == "torch" else 1


if __name__ == "__main__":
    sys.exit(main())
