"""TileGym's matrix products: dense, batched, scaled, grouped and by experts."""
import torch

from case import Case, cdiv

from cases.tensors import FLOAT, HALF, INT, empty, ints, normal, sms

__all__ = [
    "matmul", "persistent_matmul", "bmm", "persistent_bmm", "fp8_matmul", "linear_gluact_linear", "group_gemm", "moe",
    "masked_bmm"]


def _mnk(shape):
    return shape["M"], shape["N"], shape["K"]


def matmul(shape):
    m, n, k = _mnk(shape)
    a, b = normal(m, k), normal(k, n)
    tiles = [(128, 128, 32, 1), (256, 256, 64, 2), (256, 256, 64, 4), (512, 256, 64, 2)]
    return Case({"A": a, "B": b, "C": empty(m, n)}, ["C"], lambda: {"C": a.float() @ b.float()}, lambda c:
                (cdiv(m, c["TILE_SIZE_M"]) * cdiv(n, c["TILE_SIZE_N"]),),
                [{"TILE_SIZE_M": tm, "TILE_SIZE_N": tn, "TILE_SIZE_K": tk, "num_ctas": ctas, "occupancy": 1}
                 for tm, tn, tk, ctas in tiles])


def persistent_matmul(shape):
    m, n, k = _mnk(shape)
    a, b = normal(m, k), normal(k, n)
    tiles = [(128, 512, 64, 4, -1), (256, 256, 64, 2, -1), (256, 512, 64, 2, -1), (256, 256, 64, 2, 4),
             (256, 256, 64, 1, -1), (256, 256, 128, 2, -1), (256, 128, 32, 2, -1), (128, 128, 64, 1, -1)]
    return Case({"A": a, "B": b, "C": empty(m, n), "M": m, "N": n, "K": k, "TRANSPOSE_A": False, "TRANSPOSE_B": False},
                ["C"], lambda: {"C": a.float() @ b.float()}, lambda c:
                (min(sms() // c["num_ctas"],
                     cdiv(m, c["TILE_SIZE_M"]) * cdiv(n, c["TILE_SIZE_N"])) * c["occupancy"],), [{
                         "TILE_SIZE_M": tm, "TILE_SIZE_N": tn, "TILE_SIZE_K": tk, "GROUP_SIZE_M": 8, "num_ctas": ctas,
                         "occupancy": 1, "LOAD_LATENCY": latency} for tm, tn, tk, ctas, latency in tiles])


def bmm(shape):
    q, (m, n, k) = shape["B"], _mnk(shape)
    a, b = normal(q, m, k), normal(q, k, n)
    return Case({"A": a, "B": b, "C": empty(q, m, n), "TM": 128, "TN": 128, "TK": 32}, ["C"],
                lambda: {"C": torch.bmm(a.float(), b.float())}, lambda c: (cdiv(m, 128), cdiv(n, 128), q))


def persistent_bmm(shape):
    q, (m, n, k) = shape["B"], _mnk(shape)
    a, b = normal(q, m, k), normal(q, k, n)

    def grid(c):
        tiles = cdiv(m, c["TILE_M"]) * cdiv(n, c["TILE_N"]) * q
        return (min(sms() // c["num_ctas"], tiles) * c["occupancy"],)

    return Case(
        {
            "A": a, "B": b, "C": empty(q, m, n), "Batch": q, "M": m, "N": n, "K": k, "LATENCY": 3, "TRANSPOSE_A": False,
            "TRANSPOSE_B": False}, ["C"], lambda: {"C": torch.bmm(a.float(), b.float())}, grid,
        [{"TILE_M": tm, "TILE_N": tn, "TILE_K": 64, "GROUP_SIZE_M": 8, "occupancy": o, "num_ctas": 2}
         for tm in (64, 128, 256)
         for tn in (64, 128, 256)
         for o in (1, 2)])


def fp8_matmul(shape):
    """Only the configs that load by TMA, as the wrapper's `use_tma=True` asks: 24 of 48."""
    m, n, k = _mnk(shape)
    a, b = normal(m, k).to(torch.float8_e4m3fn), normal(n, k).to(torch.float8_e4m3fn)
    scale_a, scale_b = (normal(r, cdiv(k, 128), dtype=FLOAT).abs() + 0.1 for r in (m, cdiv(n, 128)))

    def reference():
        left = a.float() * scale_a.repeat_interleave(128, 1)[:, :k]
        right = b.float() * scale_b.repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :k]
        return {"C": left @ right.t()}

    groups = cdiv(k, 128)
    return Case(
        {
            "A": a, "B": b, "C": empty(m, n, dtype=FLOAT), "As": scale_a, "Bs": scale_b, "M": m, "N": n, "K": k,
            "GROUP_N": 128, "GROUP_K": 128, "STRIDE_AM": k, "STRIDE_AK": 1, "STRIDE_BK": 1, "STRIDE_BN": k, "STRIDE_CM":
            n, "STRIDE_CN": 1, "STRIDE__AS_M": groups, "STRIDE__AS_K": 1, "STRIDE__BS_K": 1, "STRIDE__BS_N": groups,
            "OUTPUT_DTYPE": 0, "USE_TMA": 1}, ["C"],
        reference,
        lambda c: (cdiv(m, c["BLOCK_SIZE_M"]) * cdiv(n, 128),), [{
            "BLOCK_SIZE_M": tm, "BLOCK_SIZE_N": 128, "BLOCK_SIZE_K": 128, "GROUP_SIZE_M": 16, "num_ctas": 1,
            "occupancy": o, "SWAP_AB": swap} for tm in (16, 32, 64, 128) if tm <= m
                                                                 for o in (1, 2, 4)
                                                                 for swap in (1, 0)],
        tolerance=1e-2)


def linear_gluact_linear(shape):
    """The first of the operator's two launches, which is this kernel; with SiLU."""
    m, n, k = _mnk(shape)
    x, act, other = normal(m, k, scale=k**-0.5), normal(n, k), normal(n, k)

    def reference():
        left, right = x.float() @ act.float().t(), x.float() @ other.float().t()
        left = torch.nn.functional.silu(left.half().float())
        return {"Act_out": left, "Noact_out": right, "Mul_out": left * right}

    tiles = [(128, 128, 64), (128, 128, 32), (64, 64, 64), (32, 32, 32), (32, 64, 32)]
    return Case(
        {
            "Input": x, "Weight_act": act, "Weight_noact": other, "Act_out": empty(m, n), "Noact_out": empty(m, n),
            "Mul_out": empty(m, n), "M": m, "N1": n, "K": k, "ACT_TYPE": 0}, ["Act_out", "Noact_out", "Mul_out"],
        reference, lambda c: (cdiv(m, c["BLOCK_M"]) * cdiv(n, c["BLOCK_N"]),),
        [{"BLOCK_M": tm, "BLOCK_N": tn, "BLOCK_K": tk, "GROUP_M": 8, "num_ctas": 1, "occupancy": 1}
         for tm, tn, tk in tiles])


def group_gemm(shape):
    """Lists of matrices, of one size here."""
    groups, (m, n, k) = shape["G"], _mnk(shape)
    a, b = [normal(m, k) for _ in range(groups)], [normal(k, n) for _ in range(groups)]
    c = [empty(m, n) for _ in range(groups)]
    blocks = lambda ctas: sms() // ctas  # noqa: E731
    return Case({"As": a, "Bs": b, "Cs": c, "TRANSPOSE_B": False}, ["Cs"],
                lambda: {"Cs": [x.float() @ y.float() for x, y in zip(a, b)]}, lambda config: (config["NUM_SM"],),
                [{"TILE_M": tm, "TILE_N": tn, "TILE_K": tk, "NUM_SM": blocks(ctas), "num_ctas": ctas, "occupancy": 1}
                 for tm, tn, tk, ctas in ((128, 128, 128, 1), (256, 256, 64, 2))])


def moe(shape):
    """Two experts a token; an expert's tokens stand together, padded to tiles of 128, as the package sorts them."""
    tokens, experts, k, n, top, tile = shape["T"], shape["E"], shape["K"], shape["N"], 2, 128
    a, b = normal(tokens, k), normal(experts, n, k)
    weights = torch.rand(tokens * top, device=a.device)
    ids = torch.rand(tokens, experts, device=a.device).topk(top, -1).indices.reshape(-1)
    pairs, owners = [], []
    for expert in range(experts):
        own = (ids == expert).nonzero().reshape(-1).tolist()
        own += [tokens * top] * (-len(own) % tile)
        pairs += own
        owners += [expert] * (len(own) // tile)

    def reference():
        rows = a.float()[torch.arange(tokens * top, device=a.device) // top]
        c = torch.empty(tokens * top, n, device=a.device)
        for expert in range(experts):
            c[ids == expert] = rows[ids == expert] @ b[expert].float().t()
        return {"c_ptr": c * weights[:, None]}

    return Case(
        {
            "a_ptr": a.reshape(-1), "b_ptr": b, "c_ptr": empty(tokens * top, n), "a_scale_ptr": empty(1), "b_scale_ptr":
            empty(1), "topk_weights_ptr": weights, "sorted_token_ids_ptr": ints(pairs), "expert_ids_ptr": ints(owners),
            "num_tokens_post_padded_ptr": ints([len(pairs)]), "N": n, "K": k, "EM": len(pairs), "num_valid_tokens":
            tokens * top, "GROUP_N": 0, "GROUP_K": 0, "TILE_SIZE_M": tile, "TILE_SIZE_N": 128, "TILE_SIZE_K": 64,
            "GROUP_SIZE_M": 32, "MUL_ROUTED_WEIGHT": 1, "TOP_K": top, "USE_FP8_W8A8": 0, "USE_INT8_W8A16": 0, "EVEN_KS":
            int(k % 64 == 0), "A_STRIDE_1": k}, ["c_ptr"], reference, lambda c:
        (cdiv(len(pairs), tile) * cdiv(n, 128),))


def masked_bmm(shape):
    """Of each matrix only the first rows are wanted: half of them to all."""
    q, (m, n, k) = shape["B"], _mnk(shape)
    a, b = normal(q, m, k), normal(q, k, n)
    rows = torch.linspace(m // 2, m, q).to(INT).to(a.device)

    def reference():
        c = torch.bmm(a.float(), b.float())
        c[torch.arange(m, device=a.device)[None] >= rows[:, None]] = float("nan")
        return {"c": c}

    def grid(c):
        tiles = cdiv(m, c["BLOCK_M"]) * cdiv(n, c["BLOCK_N"]) * q
        return (min(sms() // c["num_ctas"], tiles) * c["occupancy"],)

    return Case({"a": a, "b": b, "c": empty(q, m, n, dtype=HALF), "masked_m": rows, "TRANSPOSE_A": 0, "TRANSPOSE_B": 0},
                ["c"], reference, grid,
                [{"BLOCK_M": 128, "BLOCK_N": tn, "BLOCK_K": 64, "GROUP_SIZE_M": 8, "num_ctas": ctas, "occupancy": o}
                 for tn in (128, 256)
                 for ctas in (1, 2)
                 for o in (1, 2, 4)])
