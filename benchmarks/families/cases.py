"""What is raced, family by family: each shipped bundle at shapes of language models and at odd ones, with the same in
float64, and torch's operators for it. Shapes are (value of a dim, ...) in the order of the family's `dims`."""
import dataclasses
import itertools
import sys
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Sequence, Tuple

import torch
import torch.nn.functional as F

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "public_kernels"))
from case import Case, cdiv  # noqa: E402

HALF, BFLOAT, FLOAT8 = torch.float16, torch.bfloat16, torch.float8_e4m3fn
Operators = Dict[str, Callable[[], Any]]


@dataclasses.dataclass
class Family:
    """A bundle. make: from a shape to the case and torch's operators; tiny: a shape for the CPU device. superset: axes of
    more than a hundred configs of its Tile IR kernel, and which of them can be right at a shape. has_triton:
    BUNDLE_triton.py holds the same kernel for Triton."""
    bundle: str
    dims: str
    shapes: Sequence[Tuple[int, ...]]
    tiny: Tuple[int, ...]
    make: Callable[..., Tuple[Case, Operators]]
    superset: Dict[str, Sequence[int]]
    fits: Callable[[Dict[str, int], Dict[str, Any]], bool] = lambda shape, config: True
    has_triton: bool = False

    def cases(self, device: str, choose: Callable[[Sequence[Any]], Sequence[Any]],
              first: int) -> Iterator[Tuple[Dict[str, int], Case, Operators]]:
        """Of those that `choose` takes of its shapes, those from the `first` on; one at a time, since they fill a GPU."""
        for shape in list(choose(list(self.shapes if device == "cuda" else [self.tiny])))[first:]:
            torch.manual_seed(1)
            if device == "cuda":
                torch.cuda.empty_cache()  # What PyTorch keeps no search can have for its copies.
            case, operators = self.make(device, *shape)
            yield dict(zip(self.dims.split(), shape)), case, operators


def values(device: str, *shape: int, dtype: torch.dtype = HALF) -> torch.Tensor:
    return (torch.rand(shape, device=device, dtype=torch.float32) - 0.5).to(dtype)


def blocks_of(device: str) -> int:
    return torch.cuda.get_device_properties(0).multi_processor_count if device == "cuda" else 4


def by_rows(device: str, rows: int) -> Callable[[Dict[str, Any]], Tuple[int, ...]]:
    """A block per row, or as many blocks as run at once."""
    return lambda c: (rows if c["ONE_ROW"] else min(rows, blocks_of(device) * c["occupancy"]), 1, 1)


def by_tiles(m: int, n: int) -> Callable[[Dict[str, Any]], Tuple[int, ...]]:
    return lambda c: (cdiv(m, c["TILE_M"]), cdiv(n, c["TILE_N"]), 1)


def elementwise(device: str, n: int) -> Tuple[Case, Operators]:
    x, z, y = (values(device, n) for _ in range(3))
    return (Case({"x": x, "z": z, "y": y, "N": n}, ["y"],
                 lambda: {"y": F.gelu(x.double(), approximate="tanh") * z.double()},
                 lambda c: (cdiv(n, c["BLOCK"]), 1, 1)),
            {"gelu, mul": lambda: torch.mul(F.gelu(x, approximate="tanh"), z, out=y)})


def softmax(device: str, m: int, n: int) -> Tuple[Case, Operators]:
    x, y = (values(device, m, n, dtype=torch.float32) for _ in range(2))
    return (Case({"x": x, "y": y, "M": m, "N": n}, ["y"], lambda: {"y": torch.softmax(x.double(), 1)}, by_rows(device, m)),
            {"softmax": lambda: torch.softmax(x, 1, out=y)})


def rms_norm(device: str, m: int, n: int) -> Tuple[Case, Operators]:
    x, w, y, eps = values(device, m, n), values(device, n), values(device, m, n), 1e-5
    return (Case({"x": x, "w": w, "y": y, "eps": eps, "M": m, "N": n}, ["y"],
                 lambda: {"y": F.rms_norm(x.double(), (n,), w.double(), eps)}, by_rows(device, m)),
            {"rms_norm": lambda: F.rms_norm(x, (n,), w, eps)})


def layer_norm(device: str, m: int, n: int) -> Tuple[Case, Operators]:
    x, w, b, y, eps = values(device, m, n), values(device, n), values(device, n), values(device, m, n), 1e-5
    return (Case({"x": x, "weight": w, "bias": b, "y": y, "eps": eps, "M": m, "N": n}, ["y"],
                 lambda: {"y": F.layer_norm(x.double(), (n,), w.double(), b.double(), eps)}, by_rows(device, m)),
            {"layer_norm": lambda: F.layer_norm(x, (n,), w, b, eps)})


def silu_and_mul(device: str, m: int, n: int) -> Tuple[Case, Operators]:
    x, y = values(device, m, 2 * n), values(device, m, n)
    return (Case({"x": x, "y": y, "M": m, "N": n}, ["y"],
                 lambda: {"y": F.silu(x[:, :n].double()) * x[:, n:].double()}, lambda c: (m, cdiv(n, c["TILE_N"]), 1)),
            {"silu, mul": lambda: torch.mul(F.silu(x[:, :n]), x[:, n:], out=y)})


def rope(device: str, t: int, h: int) -> Tuple[Case, Operators]:
    x, angles = values(device, t, h, 128), values(device, t, 64, dtype=torch.float32)
    cos, sin, original = angles.cos(), angles.sin(), x.clone()

    def rotated(of: torch.Tensor) -> torch.Tensor:
        c, s, low, high = cos.to(of.dtype)[:, None], sin.to(of.dtype)[:, None], of[..., :64], of[..., 64:]
        return torch.cat([low * c - high * s, high * c + low * s], -1)

    return (Case({"x": x, "cos": cos, "sin": sin, "T": t, "H": h, "HALF": 64}, ["x"],
                 lambda: {"x": rotated(original.double())}, lambda c: (t, 1, 1)),
            {"mul, cat": lambda: rotated(x)})


def product(device: str, m: int, n: int, k: int) -> Tuple[Dict[str, Any], Callable[[], Dict[str, Any]], Operators]:
    a, b, c = values(device, m, k), values(device, k, n), values(device, m, n)
    return ({"a": a, "b": b, "c": c, "M": m, "N": n, "K": k}, lambda: {"c": a.double() @ b.double()},
            {"mm": lambda: torch.mm(a, b, out=c)})


def matmul(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    arguments, reference, operators = product(device, m, n, k)
    return Case(arguments, ["c"], reference, by_tiles(m, n)), operators


def persistent_matmul(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    arguments, reference, operators = product(device, m, n, k)
    return Case(arguments, ["c"], reference,
                lambda c: (min(blocks_of(device) // c.get("num_ctas", 1) * c.get("occupancy", 1),
                               cdiv(m, c["TILE_M"]) * cdiv(n, c["TILE_N"])), 1, 1)), operators


def split_k_matmul(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    arguments, reference, operators = product(device, m, n, k)
    elements = 16 * cdiv(m, 128) * cdiv(n, 128) * 128 * 128  # Of 16 splits.
    arguments.update(counters=torch.zeros(cdiv(m, 16) * cdiv(n, 64), dtype=torch.int32, device=device),
                     partial=torch.empty(elements, device=device))
    return Case(arguments, ["c"], reference, lambda c: (*by_tiles(m, n)(c)[:2], c["SPLITS"])), operators


def dual_gemm(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    x, gate, up, y = values(device, m, k), values(device, k, n), values(device, k, n), values(device, m, n)
    return (Case({"x": x, "w_gate": gate, "w_up": up, "y": y, "M": m, "N": n, "K": k}, ["y"],
                 lambda: {"y": F.silu(x.double() @ gate.double()) * (x.double() @ up.double())}, by_tiles(m, n)),
            {"mm, mm, silu, mul": lambda: torch.mul(F.silu(x @ gate), x @ up, out=y)})


def attention(device: str, b: int, h: int, g: int, s: int, t: int, d: int, causal: int) -> Tuple[Case, Operators]:
    q, o, k, v = values(device, b, h, s, d), values(device, b, h, s, d), values(device, b, g, t, d), values(device, b, g, t, d)
    scale = d**-0.5
    seen = torch.ones(s, t, dtype=torch.bool, device=device).tril(t - s) if causal else None

    def reference() -> Dict[str, Any]:  # Head by head: the scores of all would be gigabytes.
        wanted = torch.empty(b, h, s, d, dtype=torch.float64, device=device)
        for i, j in itertools.product(range(b), range(h)):
            at = j * g // h
            scores = q[i, j].double() @ k[i, at].double().T * scale
            if seen is not None:
                scores.masked_fill_(~seen, -float("inf"))
            wanted[i, j] = torch.softmax(scores, 1) @ v[i, at].double()
        return {"o": wanted}

    case = Case({"q": q, "k": k, "v": v, "o": o, "scale": scale, "causal": bool(causal), "B": b, "H": h, "G": g, "S": s,
                 "T": t, "D": d}, ["o"], reference, lambda c: (cdiv(s, c["TILE_M"]), h, b))
    # is_causal aligns the first query with the first key, ours the last with the last: the same for a whole prompt, and
    # one query sees all. What is between needs a mask.
    masked = {"attn_mask": seen} if causal and 1 < s != t else {"is_causal": bool(causal) and s > 1}
    return case, sdpa(q, k, v, masked)


def sdpa(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, masked: Dict[str, Any]) -> Operators:
    """scaled_dot_product_attention with each of its backends."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def by(backend: Any) -> Callable[[], Any]:
        def call() -> Any:
            with sdpa_kernel(backend):
                return F.scaled_dot_product_attention(q, k, v, enable_gqa=True, **masked)
        return call

    names = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
    return {f"sdpa {name.split('_')[0].lower()}": by(getattr(SDPBackend, name)) for name in names}


def fp8_matmul(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    a, b, y = values(device, m, k, dtype=FLOAT8), values(device, n, k, dtype=FLOAT8), values(device, m, n, dtype=BFLOAT)
    scales = [torch.full((1,), scale, device=device) for scale in (0.75, 1.25)]
    return (Case({"a": a, "b": b, "scale_a": scales[0], "scale_b": scales[1], "y": y, "M": m, "N": n, "K": k}, ["y"],
                 lambda: {"y": a.double() @ b.double().T * 0.9375}, by_tiles(m, n)),
            {"_scaled_mm": lambda: torch._scaled_mm(a, b.T, scales[0], scales[1], out_dtype=BFLOAT)})


def fp8_block_matmul(device: str, m: int, n: int, k: int) -> Tuple[Case, Operators]:
    a, b, y = values(device, m, k, dtype=FLOAT8), values(device, n, k, dtype=FLOAT8), values(device, m, n, dtype=BFLOAT)
    of_a = torch.rand(m, cdiv(k, 128), device=device) + 0.5
    of_b = torch.rand(cdiv(n, 128), cdiv(k, 128), device=device) + 0.5

    def reference() -> Dict[str, Any]:
        scaled_a = a.double() * of_a.double().repeat_interleave(128, 1)[:, :k]
        scaled_b = b.double() * of_b.double().repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
        return {"y": scaled_a @ scaled_b.T}

    # Torch takes the scales of rows column by column.
    by_columns = of_a.T.contiguous().T
    return (Case({"a": a, "b": b, "scale_a": of_a, "scale_b": of_b, "y": y, "M": m, "N": n, "K": k,
                  "KB": cdiv(k, 128)}, ["y"], reference, by_tiles(m, n)),
            {"_scaled_mm": lambda: torch._scaled_mm(a, b.T, by_columns, of_b.T, out_dtype=BFLOAT)})


def zipf_offsets(device: str, end: int, groups: int) -> torch.Tensor:
    """Group g has a share of 1 / (g + 1) of the rows, as the bundles' declared inputs have it."""
    shares = torch.cumsum(1.0 / torch.arange(1, groups + 1, dtype=torch.float64), 0)
    ends = (shares / shares[-1] * end).floor().to(torch.int32)
    ends[-1] = end
    return torch.cat([torch.zeros(1, dtype=torch.int32), ends]).to(device)


def grouped_gemm(device: str, t: int, e: int, k: int, n: int) -> Tuple[Case, Operators]:
    x, w, y = values(device, t, k), values(device, e, k, n), values(device, t, n)
    offsets = zipf_offsets(device, t, e)
    ends = offsets.tolist()
    rows = [slice(ends[i], ends[i + 1]) for i in range(e)]
    of_bfloat = (x.to(BFLOAT), w.to(BFLOAT), offsets[1:].contiguous())  # The operator takes no other type.
    return (Case({"x": x, "w": w, "offsets": offsets, "y": y, "E": e, "K": k, "N": n}, ["y"],
                 lambda: {"y": torch.cat([x[r].double() @ w[i].double() for i, r in enumerate(rows)])},
                 lambda c: (t // c["TILE_M"] + e, cdiv(n, c["TILE_N"]), 1)),
            {"_grouped_mm bfloat16": lambda: torch._grouped_mm(of_bfloat[0], of_bfloat[1], offs=of_bfloat[2]),
             "mm each": lambda: [torch.mm(x[r], w[i], out=y[r]) for i, r in enumerate(rows) if r.stop > r.start]})


def varlen_attention(device: str, t: int, sequences: int, h: int, g: int, d: int, causal: int) -> Tuple[Case, Operators]:
    q, o, k, v = values(device, t, h, d), values(device, t, h, d), values(device, t, g, d), values(device, t, g, d)
    offsets, scale = zipf_offsets(device, t, sequences), d**-0.5
    ends = offsets.tolist()
    longest = max(b - a for a, b in zip(ends, ends[1:]))

    def reference() -> Dict[str, Any]:
        parts = []
        for a, b in zip(ends, ends[1:]):
            seen = torch.ones(b - a, b - a, dtype=torch.bool, device=device)
            seen = seen.tril() if causal else seen
            heads = []
            for j in range(h):
                scores = q[a:b, j].double() @ k[a:b, j * g // h].double().T * scale
                heads.append(torch.softmax(scores.masked_fill(~seen, -float("inf")), 1) @ v[a:b, j * g // h].double())
            parts.append(torch.stack(heads, 1))
        return {"o": torch.cat(parts)}

    def varlen_attn() -> Any:
        from torch.nn.attention.varlen import varlen_attn as call
        return call(q, wide_k, wide_v, offsets, offsets, longest, longest, window_size=(-1, 0 if causal else -1))

    wide_k, wide_v = (x.repeat_interleave(h // g, 1) for x in (k, v))  # The operator may not know groups of heads.
    return (Case({"q": q, "k": k, "v": v, "cu_seqlens": offsets, "o": o, "scale": scale, "causal": bool(causal),
                  "OFFSETS": sequences + 1, "H": h, "G": g, "D": d}, ["o"], reference,
                 lambda c: (t // c["TILE_M"] + sequences, h, 1)), {"varlen_attn, each head its keys": varlen_attn})


def paged_attention(device: str, s: int, queries: int, keys: int, h: int, g: int, d: int,
                    page: int) -> Tuple[Case, Operators]:
    """s sequences that are alike, causal: decoding, or a part of a prompt behind what is in the cache."""
    table = cdiv(keys, page)
    q, o, k, v = (values(device, *shape) for shape in ((s * queries, h, d), (s * queries, h, d), *[(s * table, page, g, d)] * 2))
    pages = torch.randperm(s * table, device=device).to(torch.int32).reshape(s, table)
    lengths = torch.full((s,), keys, dtype=torch.int32, device=device)
    offsets = torch.arange(0, s * queries + 1, queries, dtype=torch.int32, device=device)
    scale = d**-0.5
    by_sequence = q.reshape(s, queries, h, d).transpose(1, 2)

    def gathered(cache: torch.Tensor) -> torch.Tensor:
        return cache[pages].reshape(s, table * page, g, d)[:, :keys].transpose(1, 2)

    def reference() -> Dict[str, Any]:
        seen = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
        of_k, of_v, wanted = gathered(k), gathered(v), torch.empty(s, queries, h, d, dtype=torch.float64, device=device)
        for i, j in itertools.product(range(s), range(h)):
            scores = by_sequence[i, j].double() @ of_k[i, j * g // h].double().T * scale
            wanted[i, :, j] = torch.softmax(scores.masked_fill(~seen, -float("inf")), 1) @ of_v[i, j * g // h].double()
        return {"o": wanted.reshape(s * queries, h, d)}

    def gather_and_sdpa() -> Any:
        from torch.nn.attention.bias import causal_lower_right
        mask = {"attn_mask": causal_lower_right(queries, keys)} if queries > 1 else {}
        wide_k, wide_v = (gathered(cache).repeat_interleave(h // g, 1) for cache in (k, v))
        return F.scaled_dot_product_attention(by_sequence, wide_k, wide_v, **mask)

    return (Case({"q": q, "k": k, "v": v, "pages": pages, "lengths": lengths, "cu_seqlens": offsets, "o": o, "scale": scale,
                  "causal": True, "S": s, "H": h, "G": g, "D": d, "PAGE": page, "TABLE": table}, ["o"], reference,
                 lambda c: (s * queries // c["TILE_M"] + s, h, 1)),
            {"gather, sdpa": gather_and_sdpa})


def decode_attention(device: str, b: int, h: int, g: int, c: int, d: int) -> Tuple[Case, Operators]:
    q, o, k, v = values(device, b, h, d), values(device, b, h, d), values(device, b, g, c, d), values(device, b, g, c, d)
    lengths = torch.full((b,), c, dtype=torch.int32, device=device)
    scale, groups = d**-0.5, g * cdiv(h // g, 16)  # A block has up to 16 heads that share keys.
    rows = 32 * groups * 16 * b
    wide_k, wide_v = (x.double().repeat_interleave(h // g, 1) for x in (k, v))
    case = Case({"q": q, "k": k, "v": v, "lengths": lengths, "o": o, "scale": scale,
                 "counters": torch.zeros(b, h, dtype=torch.int32, device=device), "partial_o": values(
                     device, rows, d, dtype=torch.float32).flatten(), "partial_lse": values(device, rows, dtype=torch.float32),
                 "C": c, "H": h, "G": g, "D": d}, ["o"],
                lambda: {"o": (torch.softmax(q.double()[:, :, None] @ wide_k.mT * scale, 3) @ wide_v)[:, :, 0]},
                lambda config: (config["SPLITS"], groups, b))
    return case, sdpa(q[:, :, None], k, v, {})


ROWS = [(1, 4096), (32, 4096), (512, 8192), (4096, 4096), (4096, 4001), (2048, 16384), (32768, 1024)]
PRODUCTS = [(1, 4096, 4096), (16, 14336, 4096), (128, 4096, 14336), (512, 4096, 4096), (1000, 777, 1024),
            (4096, 4096, 4096), (8192, 8192, 8192)]
GATED = [(1, 14336), (32, 14336), (512, 14336), (4096, 4096), (4096, 14336), (333, 1001)]


def powers(first: int, last: int) -> List[int]:
    return [1 << i for i in range(first.bit_length() - 1, last.bit_length())]


OCCUPANCIES = {"occupancy": powers(1, 32), "num_ctas": [1, 2]}
OF_ROWS = {"TILE_N": powers(128, 16384), "LOOP": [0, 1], "ONE_ROW": [0, 1], "occupancy": powers(1, 32)}
OF_SCALED_BLOCKS = {"TILE_M": powers(16, 256), "TILE_N": [128], "TILE_K": [128], "occupancy": list(range(1, 11)),
                    "num_ctas": [1, 2]}  # The scales are of 128 columns, 128 deep.
OF_PRODUCTS = {"TILE_M": powers(16, 256), "TILE_N": powers(32, 256), "TILE_K": powers(32, 128), "occupancy": [1, 2],
               "num_ctas": [1, 2]}
# Without clusters, as varlen_attention and paged_attention are: most such do not end at occupancy 2 (clusters.py).
OF_GROUPS = {**OF_PRODUCTS, "num_ctas": [1]}


def row_fits(shape: Dict[str, int], config: Dict[str, Any]) -> bool:
    return bool(config["LOOP"]) or config["TILE_N"] >= shape["N"]


def product_fits(shape: Dict[str, int], config: Dict[str, Any]) -> bool:
    return config["TILE_M"] * config["TILE_N"] <= 128 * 256  # Beyond, the sums fill the registers.


def attention_fits(shape: Dict[str, int], config: Dict[str, Any]) -> bool:
    return config["TILE_M"] * shape["D"] <= 256 * 128


FAMILIES: List[Family] = [
    Family("elementwise", "N", [(1 << 16,), (1 << 20,), (1000003,), (1 << 22,), (1 << 24,), (1 << 26,)], (1000,),
           elementwise, {"BLOCK": powers(64, 32768), **OCCUPANCIES}),
    Family("softmax", "M N", ROWS, (3, 100), softmax, OF_ROWS, row_fits),
    Family("rms_norm", "M N", ROWS, (3, 100), rms_norm, OF_ROWS, row_fits),
    Family("layer_norm", "M N", ROWS, (3, 100), layer_norm, OF_ROWS, row_fits),
    Family("silu_and_mul", "M N", GATED, (3, 100), silu_and_mul, {"TILE_N": powers(64, 16384), **OCCUPANCIES}),
    Family("rope", "T H", [(1, 32), (32, 32), (512, 32), (4096, 8), (4096, 32), (8192, 64)], (3, 5), rope,
           {"TILE_H": powers(1, 64), "occupancy": [1, 2, 3, 4, 6, 8, 12, 16], "num_ctas": [1, 2]}),
    Family("matmul", "M N K", PRODUCTS, (20, 30, 40), matmul, OF_PRODUCTS, product_fits, has_triton=True),
    Family("persistent_matmul", "M N K", PRODUCTS, (20, 30, 40), persistent_matmul, OF_PRODUCTS, product_fits,
           has_triton=True),
    Family("split_k_matmul", "M N K", [(1, 4096, 14336), (16, 4096, 14336), (16, 1024, 8192), (64, 4096, 4096),
                                       (32, 777, 4096), (128, 1024, 8192)], (20, 30, 400), split_k_matmul,
           {"TILE_M": powers(16, 128), "TILE_N": powers(64, 128), "TILE_K": powers(32, 128), "SPLITS": powers(1, 16),
            "occupancy": [1, 2]}, has_triton=True),
    Family("dual_gemm", "M N K", [(1, 14336, 4096), (16, 14336, 4096), (128, 14336, 4096), (512, 14336, 4096),
                                  (1000, 777, 1024), (4096, 14336, 4096)], (20, 30, 40), dual_gemm, OF_PRODUCTS,
           product_fits, has_triton=True),
    Family("attention", "B H G S T D causal",
           [(2, 32, 8, 4096, 4096, 128, 1), (2, 32, 8, 4096, 4096, 128, 0), (4, 16, 16, 1024, 1024, 64, 1),
            (1, 8, 8, 2048, 2048, 256, 1), (2, 32, 8, 512, 4096, 128, 1), (8, 32, 8, 1, 8191, 128, 1)],
           (1, 2, 1, 20, 20, 64, 1), attention,
           {"TILE_M": powers(32, 256), "TILE_N": powers(16, 256), "occupancy": [1, 2, 4], "num_ctas": [1, 2]},
           attention_fits, has_triton=True),
    Family("fp8_matmul", "M N K", PRODUCTS, (20, 30, 40), fp8_matmul,
           {**OF_PRODUCTS, "TILE_K": [128, 256]}, product_fits, has_triton=True),
    Family("fp8_block_matmul", "M N K", [(1, 4096, 4096), (16, 14336, 4096), (128, 4096, 14336), (512, 4096, 4096),
                                         (4096, 4096, 4096), (8192, 8192, 8192)], (20, 30, 200), fp8_block_matmul,
           OF_SCALED_BLOCKS, has_triton=True),
    Family("grouped_gemm", "T E K N", [(64, 8, 4096, 14336), (512, 8, 4096, 14336), (4096, 8, 4096, 14336),
                                       (256, 64, 2048, 1408), (4096, 64, 2048, 1408), (16384, 128, 4096, 1536)],
           (40, 3, 20, 30), grouped_gemm, OF_GROUPS, product_fits,
           has_triton=True),
    Family("varlen_attention", "T sequences H G D causal",
           [(8192, 16, 32, 8, 128, 1), (8192, 16, 32, 8, 128, 0), (8192, 4, 16, 16, 64, 1), (2048, 64, 32, 8, 128, 1),
            (16384, 8, 32, 8, 128, 1), (1000, 7, 32, 4, 128, 1)], (50, 3, 2, 1, 64, 1), varlen_attention,
           {"TILE_M": powers(32, 256), "TILE_N": powers(16, 256), "occupancy": [1, 2, 3, 4, 6, 8]},
           attention_fits, has_triton=True),
    Family("paged_attention", "S queries keys H G D PAGE",
           [(16, 1, 4096, 32, 8, 128, 64), (64, 1, 2048, 32, 8, 128, 16), (1, 1, 16384, 32, 8, 128, 64),
            (4, 512, 4096, 32, 8, 128, 64), (8, 256, 1024, 16, 16, 64, 128), (128, 1, 1000, 40, 8, 128, 16)],
           (2, 3, 50, 2, 1, 64, 16), paged_attention,
           {"TILE_M": powers(16, 128), "TILE_N": powers(16, 128), "occupancy": list(range(1, 10))},
           lambda shape, config: shape["PAGE"] % config["TILE_N"] == 0, has_triton=True),
    Family("decode_attention", "B H G C D", [(1, 32, 8, 8192, 128), (8, 32, 8, 8192, 128), (64, 32, 8, 2048, 128),
                                             (16, 64, 8, 4096, 128), (1, 32, 32, 16384, 64), (128, 40, 8, 1000, 128)],
           (2, 4, 2, 100, 64), decode_attention,
           {"TILE_N": powers(16, 256), "SPLITS": powers(1, 32), "occupancy": powers(1, 8)}, has_triton=True),
]
