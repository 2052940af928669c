"""Liger's Triton kernels, launched as its functions do: one config each, but for the one that tunes itself."""
import torch
import torch.nn.functional as F

from case import Case, cdiv, pow2

from cases.tensors import DEVICE, FLOAT, empty, layer_norm_of, normal, rotated


def _warps(n):
    """What Liger takes for rows of n."""
    block = pow2(n)
    return 32 if block >= 32768 else 16 if block >= 8192 else 8 if block >= 2048 else 4


def _rows(shape, arguments, outputs, reference, **constants):
    """A block per row."""
    n = shape["N"]
    return Case({**arguments, **constants}, outputs, reference, lambda c: (shape["M"],),
                [{"BLOCK_SIZE": pow2(n), "num_warps": _warps(n)}])


def rms_norm(shape):
    m, n = shape["M"], shape["N"]
    x, w = normal(m, n), normal(n)

    def reference():
        r = torch.rsqrt(x.float().pow(2).mean(-1) + 1e-6)
        return {"Y_ptr": x.float() * r[:, None] * w.float(), "RSTD_ptr": r}

    return _rows(shape, {
        "Y_ptr": empty(m, n), "Y_row_stride": n, "X_ptr": x, "X_row_stride": n, "W_ptr": w, "W_row_stride": 1,
        "RSTD_ptr": empty(m, dtype=FLOAT), "RSTD_row_stride": 1, "n_cols": n, "eps": 1e-6, "offset": 0.0},
                 ["Y_ptr", "RSTD_ptr"],
                 reference,
                 casting_mode=0,
                 elementwise_affine=True)


def layer_norm(shape):
    m, n = shape["M"], shape["N"]
    x, w, b = normal(m, n), normal(n), normal(n)

    def reference():
        return dict(zip(("Y_ptr", "Mean_ptr", "RSTD_ptr"), layer_norm_of(x, w, b, 1e-6)))

    return _rows(
        shape, {
            "Y_ptr": empty(m, n), "Y_row_stride": n, "X_ptr": x, "X_row_stride": n, "W_ptr": w, "W_row_stride": 1,
            "B_ptr": b, "B_row_stride": 1, "Mean_ptr": empty(m, dtype=FLOAT), "Mean_row_stride": 1, "RSTD_ptr": empty(
                m, dtype=FLOAT), "RSTD_row_stride": 1, "n_cols": n, "eps": 1e-6}, ["Y_ptr", "Mean_ptr", "RSTD_ptr"],
        reference)


def fused_add_rms_norm(shape):
    m, n = shape["M"], shape["N"]
    x, r, w = normal(m, n), normal(m, n), normal(n)

    def reference():
        s = (x + r).float()
        d = torch.rsqrt(s.pow(2).mean(-1) + 1e-6)
        return {"Y_ptr": s * d[:, None] * w.float(), "S_ptr": s, "RSTD_ptr": d}

    case = _rows(shape, {
        "Y_ptr": empty(m, n), "Y_row_stride": n, "S_ptr": empty(m, n), "S_row_stride": n, "X_ptr": x, "X_row_stride": n,
        "R_ptr": r, "R_row_stride": n, "W_ptr": w, "W_row_stride": 1, "RSTD_ptr": empty(m, dtype=FLOAT),
        "RSTD_row_stride": 1, "n_cols": n, "eps": 1e-6, "offset": 0.0}, ["Y_ptr", "S_ptr", "RSTD_ptr"],
                 reference,
                 casting_mode=0)
    case.configs[0]["num_stages"] = 2
    return case


def dyt(shape):
    m, n = shape["M"], shape["N"]
    x, alpha, gamma, beta = normal(m, n), normal(1), normal(n), normal(n)
    return Case({"X": x, "Y": empty(m, n), "Alpha": alpha, "Gamma": gamma, "Beta": beta, "HAVE_BETA": True, "N": n},
                ["Y"], lambda: {"Y": torch.tanh(alpha.float() * x.float()) * gamma.float() + beta.float()}, lambda c:
                (cdiv(n, c["BLOCK_N"]), m), None)


def softmax(shape):
    m, n = shape["M"], shape["N"]
    x = normal(m, n)
    return _rows(shape, {"Y_ptr": empty(m, n), "Y_row_stride": n, "X_ptr": x, "X_row_stride": n, "n_cols": n},
                 ["Y_ptr"], lambda: {"Y_ptr": x.float().softmax(-1)})


def swiglu(shape):
    m, n = shape["M"], shape["N"]
    a, b = normal(m, n), normal(m, n)
    return _rows(shape, {"a_ptr": a, "b_ptr": b, "c_ptr": empty(m, n), "stride": n, "gate_multiplier": 1.0}, ["c_ptr"],
                 lambda: {"c_ptr": F.silu(a.float()) * b.float()},
                 n_cols=n)


def geglu(shape):
    m, n = shape["M"], shape["N"]
    a, b = normal(m, n), normal(m, n)
    return _rows(shape, {"a": a, "b": b, "c": empty(m, n), "stride": n}, ["c"],
                 lambda: {"c": F.gelu(a.float(), approximate="tanh") * b.float()},
                 n_cols=n)


def relu_squared(shape):
    m, n = shape["M"], shape["N"]
    x = normal(m, n)
    return _rows(shape, {"Y_ptr": empty(m, n), "Y_stride": n, "X_ptr": x, "X_stride": n}, ["Y_ptr"],
                 lambda: {"Y_ptr": F.relu(x.float()).pow(2)},
                 n_cols=n)


def rope(shape):
    """Heads stand beside each other: (batch, length, heads, head)."""
    b, h, k, s, d = (shape[name] for name in "BHKSD")
    q, key, angles = normal(b, s, h, d), normal(b, s, k, d), normal(1, s, d, dtype=FLOAT)
    cos, sin = angles.cos().half(), angles.sin().half()
    turn = lambda x: rotated(x.transpose(1, 2), cos, sin).transpose(1, 2)  # noqa: E731
    return Case(
        {
            "q_ptr": q, "q_row_stride": h * d, "k_ptr": key, "k_row_stride": k * d, "cos": cos, "cos_row_stride": d,
            "sin": sin, "sin_row_stride": d, "sl": s, "bs": b, "cos_bs": 1, "n_qh": h, "n_kh": k, "hd": d, "pad_n_qh":
            pow2(h), "pad_n_kh": pow2(k), "pad_hd": pow2(d), "pad_rd": pow2(d), "rd": d, "BLOCK_SIZE": max(
                pow2(h), pow2(k)), "BACKWARD_PASS": False}, ["q_ptr", "k_ptr"],
        lambda: {"q_ptr": turn(q), "k_ptr": turn(key)}, lambda c: (b * s,))


def cross_entropy(shape):
    """The mean's loss by row, and the gradient in the input's place."""
    m, n = shape["M"], shape["N"]
    x, y = normal(m, n), torch.randint(0, n, (m,), device=DEVICE)

    def reference():
        loss, gradient = torch.empty(m, device=DEVICE), torch.empty(m, n, dtype=x.dtype, device=DEVICE)
        for part in torch.arange(m, device=DEVICE).split(512):
            logits = x[part].float()
            loss[part] = F.cross_entropy(logits, y[part], reduction="none") / m
            logits = logits.softmax(-1)
            logits[torch.arange(len(part), device=DEVICE), y[part]] -= 1
            gradient[part] = (logits / m).to(x.dtype)
        return {"loss_ptr": loss, "X_ptr": gradient}

    return Case(
        {
            "X_ptr": x, "X_stride": n, "Y_ptr": y, "Y_stride": 1, "weight_ptr": None, "loss_ptr": empty(
                m, dtype=FLOAT), "z_loss_ptr": None, "loss_stride": 1, "token_accuracy_ptr": None,
            "token_accuracy_stride": 0, "predicted_tokens_ptr": None, "predicted_tokens_stride": 0, "n_cols": n,
            "n_non_ignore": m, "sum_non_ignore_weight": m, "weight_sum": 0.0, "ignore_index": -100, "lse_square_scale":
            0.0, "label_smoothing": 0.0, "reduction": "mean", "softcap": None, "RETURN_Z_LOSS": False,
            "RETURN_TOKEN_ACCURACY": False, "RETURN_PREDICTED_TOKENS": False, "HAS_WEIGHT": False, "HAS_SOFTCAPPING":
            False, "HAS_GRADIENTS": True}, ["X_ptr", "loss_ptr"], reference, lambda c: (m,),
        [{"BLOCK_SIZE": min(32768, pow2(n)), "num_warps": 32}])


def kl_div(shape):
    """The batch's mean: a loss per row."""
    m, n = shape["M"], shape["N"]
    y, truth = normal(m, n).float().log_softmax(-1), normal(m, n).float().softmax(-1)
    block = min(16384, pow2(n))
    return Case(
        {
            "y_ptr": y, "y_stride": n, "gt_ptr": truth, "gt_stride": n, "loss_ptr": empty(m, dtype=FLOAT),
            "loss_stride": 1, "n_cols": n, "eps": 1e-10, "reduction": 3, "log_target": False}, ["loss_ptr"],
        lambda: {"loss_ptr": (truth * (truth.clamp_min(1e-10).log() - y)).sum(-1)}, lambda c: (m,),
        [{"BLOCK_SIZE": block, "num_warps": _warps(block)}])
