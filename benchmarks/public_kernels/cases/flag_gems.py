"""FlagGems' Triton kernels, launched as its operators do."""
import torch
import torch.nn.functional as F

from case import Case, cdiv, pow2

from cases.tensors import FLOAT, empty, layer_norm_of, normal


def mm(shape):
    m, n, k = shape["M"], shape["N"], shape["K"]
    a, b = normal(m, k), normal(k, n)
    return Case(
        {
            "A": a, "B": b, "C": empty(m, n), "M": m, "N": n, "K": k, "stride_am": k, "stride_ak": 1, "stride_bk": n,
            "stride_bn": 1, "stride_cm": n, "stride_cn": 1, "GROUP_M": 8}, ["C"], lambda: {"C": a.float() @ b.float()},
        lambda c: (cdiv(m, c["BLOCK_M"]) * cdiv(n, c["BLOCK_N"]),), None)


def softmax(shape):
    """What a config decides is a heuristic's here: no search at home."""
    m, n = shape["M"], shape["N"]
    x = normal(m, n)
    return Case({"output_ptr": empty(m, n), "input_ptr": x, "M": m, "N": n}, ["output_ptr"],
                lambda: {"output_ptr": x.float().softmax(-1)}, lambda c: (m, 1, 1), None)


def rms_norm(shape):
    m, n = shape["M"], shape["N"]
    x, w = normal(m, n), normal(n)

    def reference():
        r = torch.rsqrt(x.float().pow(2).mean(-1) + 1e-5)
        return {"out_ptr": x.float() * r[:, None] * w.float(), "INV_RMS": r}

    return Case(
        {
            "out_ptr": empty(m, n), "INV_RMS": empty(m, dtype=FLOAT), "in_ptr": x, "w_ptr": w, "y_stride_r": n,
            "y_stride_c": 1, "x_stride_r": n, "x_stride_c": 1, "N": n, "eps": 1e-5, "BLOCK_SIZE": pow2(n)},
        ["out_ptr", "INV_RMS"], reference, lambda c: (m,), None)


def layer_norm(shape):
    m, n = shape["M"], shape["N"]
    x, w, b = normal(m, n), normal(n), normal(n)

    def reference():
        return dict(zip(("out_ptr", "out_mean_ptr", "out_rstd_ptr"), layer_norm_of(x, w, b, 1e-5)))

    return Case(
        {
            "in_ptr": x, "out_ptr": empty(m, n), "weight_ptr": w, "bias_ptr": b, "out_mean_ptr": empty(m),
            "out_rstd_ptr": empty(m), "M": m, "N": n, "eps": 1e-5, "TILE_N": pow2(n)},
        ["out_ptr", "out_mean_ptr", "out_rstd_ptr"], reference, lambda c: (m, 1, 1), None)


def swiglu(shape):
    m, n = shape["M"], shape["N"]
    both = normal(m, 2 * n)
    return Case(
        {
            "input_ptr": both, "output_ptr": empty(m, n), "M": m, "H": n, "stride_in_m": 2 * n, "stride_in_h": 1,
            "stride_out_m": n, "stride_out_h": 1}, ["output_ptr"],
        lambda: {"output_ptr": F.silu(both[:, :n].float()) * both[:, n:].float()}, lambda c: (cdiv(m, 64), cdiv(n, 64)),
        [{"BLOCK_SIZE_M": 64, "BLOCK_SIZE_H": 64}])


def skip_layer_norm(shape):
    m, n = shape["M"], shape["N"]
    x, r, w, b = normal(m, n), normal(m, n), normal(n), normal(n)
    return Case(
        {
            "Y": empty(m, n), "X": x, "R": r, "W": w, "B": b, "y_stride_r": n, "y_stride_c": 1, "x_stride_r": n,
            "x_stride_c": 1, "r_stride_r": n, "r_stride_c": 1, "N": n, "eps": 1e-5, "BLOCK_SIZE": pow2(n)}, ["Y"],
        lambda: {"Y": F.layer_norm(x.float() + r.float(), (n,), w.float(), b.float(), 1e-5)}, lambda c: (m,), None)
