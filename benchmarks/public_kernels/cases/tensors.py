"""Tensors on the GPU; on the CPU where there is none, so that what needs no GPU of a case can be tried."""
import torch

HALF, FLOAT, INT = torch.float16, torch.float32, torch.int32
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def normal(*shape, dtype=HALF, scale=1.0):
    """Normally distributed numbers."""
    return (torch.randn(shape, device=DEVICE) * scale).to(dtype)


def empty(*shape, dtype=HALF):
    """Zeros, so that what a kernel leaves unwritten is the same in each run."""
    return torch.zeros(shape, device=DEVICE, dtype=dtype)


def ints(values):
    return torch.tensor(values, device=DEVICE, dtype=INT)


def sms():
    """Multiprocessors of this GPU; an H200's where there is none."""
    return torch.cuda.get_device_properties(0).multi_processor_count if DEVICE == "cuda" else 132


def attention(q, k, v, causal=True, scale=None):
    """(batch, heads, length, head); fewer heads of k and v are shared."""
    groups = q.shape[1] // k.shape[1]
    k, v = (t.float().repeat_interleave(groups, 1) for t in (k, v))
    return torch.nn.functional.scaled_dot_product_attention(q.float(), k, v, is_causal=causal, scale=scale)


def layer_norm_of(x, w, b, eps):
    """Of rows: the normalized ones, their means, and one over their standard deviations."""
    f = x.float()
    return (torch.nn.functional.layer_norm(f, f.shape[-1:], w.float(), b.float(), eps), f.mean(-1),
            torch.rsqrt(f.var(-1, unbiased=False) + eps))


def rotated(x, cos, sin):
    """Rotary embedding of (..., length, head) by the first halves of cos and sin, (length, head)."""
    half = x.shape[-1] // 2
    low, high, c, s = x[..., :half].float(), x[..., half:].float(), cos[..., :half].float(), sin[..., :half].float()
    return torch.cat([low * c - high * s, high * c + low * s], -1)
