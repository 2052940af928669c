"""What each kernel of the list computes, by torch: `NAME(t)` returns what the outputs must hold, by name.

`t` has the launch's tensors and scalars by the kernel's parameter names, and the extents as `shape`. Outputs hold
nothing yet; tensors that are read and written hold what the launch reads. A function of `INPUTS` changes inputs first,
where normally distributed numbers do not suit the kernel.
"""
import math
from typing import Any, Callable, Dict

import torch
import torch.nn.functional as F

Tensors = Dict[str, Any]
LOG2E = 1 / math.log(2)
INPUTS: Dict[str, Callable[[Tensors], None]] = {}


def inputs(*names: str) -> Callable[[Callable[[Tensors], None]], Callable[[Tensors], None]]:

    def register(function: Callable[[Tensors], None]) -> Callable[[Tensors], None]:
        INPUTS.update({name: function for name in names})
        return function

    return register


def tanh_gelu(x):
    return F.gelu(x, approximate="tanh")


def gelu_slope(x):  # As the kernels have it: the distribution by tanh, the density exactly.
    inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
    return 0.5 * (1 + torch.tanh(inner)) + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def silu_slope(x):
    sigmoid = torch.sigmoid(x)
    return sigmoid * (1 + x * (1 - sigmoid))


def relu(t):
    return {"y": F.relu(t["x"].float())}


def relu_backward(t):
    return {"dx": t["dy"] * (t["x"] > 0)}


def gelu(t):
    return {"y": tanh_gelu(t["x"].float())}


def gelu_backward(t):
    return {"dx": t["dy"] * gelu_slope(t["x"])}


def geglu(t):
    a, b = t["x"].float().chunk(2, -1)
    return {"y": a * tanh_gelu(b)}


def geglu_backward(t):
    a, b = t["x"].chunk(2, -1)
    return {"dx": torch.cat([t["dy"] * tanh_gelu(b), t["dy"] * a * gelu_slope(b)], -1)}


def dropout(t):
    x = t["x"]
    h = (torch.arange(x.numel(), device=x.device, dtype=torch.int64) * 1103515245 + t["seed"]) & 0xFFFFFFFF
    h = h ^ (h >> 16)
    h = (h ^ (h << 8)) & 0xFFFFFFFF
    h = h ^ (h >> 4)
    keep = (h & 0x7FFFFFFF).float() / 2147483647.0 > t["p"]
    return {"output": torch.where(keep, x.float() / (1 - t["p"]), torch.zeros_like(x, dtype=torch.float32))}


def silu_and_mul(t):
    a, b = t["input"].float().chunk(2, -1)
    return {"output": F.silu(a) * b}


silu_and_mul_row_wise = silu_and_mul


def silu_and_mul_backward(t):
    a, b = t["input"].float().chunk(2, -1)
    dy = t["grad_output"].float()
    return {"grad_input": torch.cat([dy * b * silu_slope(a), dy * F.silu(a)], -1)}


def swiglu_gather(t):
    return {"c": F.silu(t["a"].float()) * t["b"].float()}


swiglu_views = swiglu_gather


def swiglu_backward(t):
    a, dc = t["a"].float(), t["dc"].float()
    return {"da": dc * t["b"].float() * silu_slope(a), "db": dc * F.silu(a)}


def softmax(t):
    return {"output": torch.softmax(t["input"].float(), -1)}


online_softmax = softmax


@inputs("softmax_backward", "online_softmax_backward")
def probabilities(t):
    t["y"].copy_(torch.softmax(3 * t["y"].float(), -1))


def softmax_backward(t):
    y, dy = t["y"].float(), t["dy"].float()
    return {"dx": y * (dy - (y * dy).sum(-1, keepdim=True))}


online_softmax_backward = softmax_backward


def rms_norm(t):
    x = t["X"].float()
    rstd = torch.rsqrt(x.pow(2).mean(-1) + 1e-6)
    return {"Y": x * rstd[:, None] * t["W"].float(), "Rstd" if "Rstd" in t else "rstd": rstd}


rms_norm_cached = rms_norm_views = rms_norm_persistent = rms_norm


@inputs("rms_norm_backward")
def saved_rstd(t):
    t["Rstd"].copy_(torch.rsqrt(t["X"].float().pow(2).mean(-1) + 1e-6))


def rms_norm_backward(t):
    x, dy, w, rstd = t["X"].float(), t["DY"].float(), t["W"].float(), t["Rstd"][:, None]
    correction = rstd**3 / x.shape[1] * (dy * w * x).sum(-1, keepdim=True)
    return {"DX": dy * w * rstd - x * correction, "temp_buffer": dy * x * rstd}


def layer_norm(t):
    x = t["X"].float()
    mean, variance = x.mean(-1), x.var(-1, unbiased=False)
    rstd = torch.rsqrt(variance + 1e-5)
    y = (x - mean[:, None]) * rstd[:, None] * t["W"].float() + t["B"].float()
    return {"Y": y, "Mean": mean, "Rstd": rstd}


persistent_layer_norm = layer_norm


@inputs("rope", "rope_backward")
def angles(t):
    t["cos"][:, :, 1] = t["cos"][:, :, 0]
    t["sin"][:, :, 1] = t["sin"][:, :, 0]


def rotated(x, cos, sin):
    first, second = x.float().chunk(2, -1)
    cos, sin = cos[:, None, :, 0].float(), sin[:, None, :, 0].float()
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1)


def rope(t):
    return {name: rotated(t[name], t["cos"], t["sin"]) for name in ("q", "k")}


def rope_backward(t):
    return {name: rotated(t[name], t["cos"], -t["sin"]) for name in ("dq", "dk")}


def matmul(t):
    return {"C": t["A"].float() @ t["B"].float()}


persistent_matmul = sample_matmul = matmul


def bmm(t):
    return {"c": t["a"].float() @ t["b"].float()}


bmm_persistent = bmm


def scores_of(q, k, scale):
    """Of queries and keys, each head of keys for as many heads of queries as there are."""
    return q.float() @ k.float().repeat_interleave(q.shape[1] // k.shape[1], 1).transpose(-1, -2) * scale


def attended(scores, v):
    v = v.float().repeat_interleave(scores.shape[1] // v.shape[1], 1)
    return torch.softmax(scores, -1) @ v


def causal(scores):
    rows, columns = scores.shape[-2:]
    later = torch.ones(rows, columns, dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(later, float("-inf"))


def fmha(t):
    scores = causal(scores_of(t["q"], t["k"], t["sm_scale"]))
    return {"out": attended(scores, t["v"]), "lse": torch.logsumexp(scores, -1) * LOG2E}


def fmha_backward_preprocess(t):
    products = (t["out"].float() * t["dout"].float()).sum(-1)
    return {"minus_delta": -t["softmax_scale"] * products, "minus_l": -t["lse"]}


@inputs("fmha_backward")
def saved_sums(t):
    scores = causal(scores_of(t["q"], t["k"], t["softmax_scale"]))
    t["minus_l"].copy_(-torch.logsumexp(scores, -1) * LOG2E)
    t["minus_delta"].copy_(-t["softmax_scale"] * (attended(scores, t["v"]) * t["dout"].float()).sum(-1))
    t["dq"].zero_()


def fmha_backward(t):
    with torch.enable_grad():
        q, k, v = (t[name].float().requires_grad_() for name in ("q", "k", "v"))
        attended(causal(scores_of(q, k, t["softmax_scale"])), v).backward(t["dout"].float())
    return {"dq": q.grad, "dk": k.grad, "dv": v.grad}


def split(x, parts):
    """(..., T, D) as (..., parts, T / parts, D)."""
    return x.unflatten(-2, (parts, x.shape[-2] // parts))


def flash_decode(t):
    parts = t["shape"]["P"]
    k, v = split(t["k"].float(), parts), split(t["v"].float(), parts)  # (B, G, P, T / P, D)
    scores = torch.einsum("bgrd,bgptd->bgrpt", t["q"].float(), k) * t["softmax_scale"]
    out = torch.einsum("bgrpt,bgptd->bgrpd", torch.softmax(scores, -1), v)
    return {"out": out, "lse": torch.logsumexp(scores, -1) * LOG2E}


def attention_sink(t):
    scores = causal(scores_of(t["q"], t["k"], t["sm_scale"]))
    sinks = t["sinks"].float()[None, :, None, None].expand(*scores.shape[:3], 1)
    weights = torch.softmax(torch.cat([scores, sinks], -1), -1)[..., :-1]
    return {"out": weights @ t["v"].float(), "m": torch.logsumexp(scores, -1)}


def gemma_attention(t):
    scores = torch.tanh(scores_of(t["q"], t["k"], t["sm_scale"]) / t["soft_cap"]) * t["soft_cap"]
    far = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(-257)
    return {"out": attended(causal(scores).masked_fill(far, float("-inf")), t["v"])}


def mla(t):
    scores = scores_of(t["q"], t["k"], t["sm_scale"]) + scores_of(t["qpe"], t["kpe"], t["sm_scale"])
    return {"out": attended(causal(scores), t["v"])}


def mla_decoding(t):
    kv = t["kv"].float()
    scores = t["q"].float() @ kv.transpose(1, 2) + t["qpe"].float() @ t["kpe"].float().transpose(1, 2)
    scores = scores * t["sm_scale"]
    return {"out": torch.softmax(scores, -1) @ kv, "l": torch.logsumexp(scores, -1) * LOG2E}


mla_decoding_transposed = mla_decoding


def mla_decoding_split(t):
    parts = t["shape"]["P"]
    k, v, kpe = (split(t[name].float(), parts) for name in ("k", "v", "kpe"))  # (B, P, T / P, D)
    scores = torch.einsum("bhd,bptd->bhpt", t["q"].float(), k) + torch.einsum("bhe,bpte->bhpt", t["qpe"].float(), kpe)
    scores = scores * t["sm_scale"]
    out = torch.einsum("bhpt,bptd->bhpd", torch.softmax(scores, -1), v)
    return {"out": out, "lse": torch.logsumexp(scores, -1) * LOG2E}


def splitk_reduce(t):
    weights = torch.softmax(t["lse"] / LOG2E, -1)
    return {"out": (weights[..., None] * t["attn"].float()).sum(2)}


@inputs("recurrent_gated_delta_rule")
def gates(t):
    t["g"].copy_(-0.1 * t["g"].abs())
    t["beta"].copy_(torch.sigmoid(t["beta"].float()))


def recurrent_gated_delta_rule(t):
    q, k, v, beta = (t[name].float() for name in ("q", "k", "v", "beta"))
    q, k = (x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6) for x in (q, k))
    state, outputs = t["initial"].clone(), []  # (B, H, K, V)
    for step in range(q.shape[1]):
        state = state * torch.exp(t["g"][:, step])[..., None, None]
        known = torch.einsum("bhkv,bhk->bhv", state, k[:, step])
        delta = (v[:, step] - known) * beta[:, step][..., None]
        state = state + k[:, step][..., None] * delta[..., None, :]
        outputs.append(torch.einsum("bhkv,bhk->bhv", state, q[:, step] * t["scale"]))
    return {"output": torch.stack(outputs, 1), "final": state}


@inputs("moe_align_count")
def chosen_experts(t):
    t["topk_ids"].copy_(torch.randint(0, t["shape"]["E"], t["topk_ids"].shape, device=t["topk_ids"].device))
    t["tokens_cnts"].zero_()


def moe_align_count(t):
    counts, experts = t["tokens_cnts"].clone(), t["topk_ids"].long()
    each = -(-experts.numel() // t["shape"]["E"])
    program = torch.arange(experts.numel(), device=experts.device) // each
    return {"tokens_cnts": counts.index_put_((program + 1, experts), torch.ones_like(t["topk_ids"]), accumulate=True)}


@inputs("moe_align_sum")
def counts(t):
    t["tokens_cnts"].copy_(torch.randint(0, 50, t["tokens_cnts"].shape, device=t["tokens_cnts"].device))


def moe_align_sum(t):
    counts = t["tokens_cnts"]
    return {"tokens_cnts": torch.cat([counts[:1], counts[1:].cumsum(0).to(counts.dtype)])}


def sample_vector_add(t):
    return {"c": t["a"].float() + t["b"].float()}


def sample_transpose(t):
    return {"b": t["a"].t()}
