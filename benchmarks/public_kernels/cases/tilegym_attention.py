"""TileGym's attention: dense, of varying lengths, with sinks and windows, latent, split and paged."""
import torch

from case import Case, cdiv, pow2

from cases.tensors import DEVICE, FLOAT, INT, attention, empty, ints, normal, sms

__all__ = [
    "fmha", "fmha_varlen", "attention_sink", "swa_attention", "flash_decode", "splitk_reduce", "mla", "mla_decoding",
    "paged_prefill", "paged_decode"]

LOG2E = 1.4426950408889634


def _bhsd(shape):
    return tuple(shape[name] for name in "BHSD")


def _tiles(configs):
    return [{"TILE_M": m, "TILE_N": n, "num_ctas": ctas, "occupancy": o} for m, n, ctas, o in configs]


def fmha(shape):
    b, h, s, d = _bhsd(shape)
    q, k, v = (normal(b, h, s, d) for _ in range(3))
    return Case(
        {
            "Q": q, "K": k, "V": v, "Out": empty(b, h, s, d), "qk_scale": d**-0.5, "input_pos": 0, "TILE_D": d, "H": h,
            "QUERY_GROUP_SIZE": 1, "CAUSAL": True, "EVEN_K": s % 128 == 0}, ["Out"],
        lambda: {"Out": attention(q, k, v)}, lambda c: (cdiv(s, c["TILE_M"]), b * h),
        _tiles([(256, 128, 1, 1), (128, 128, 1, 2), (256, 128, 1, 2), (256, 128, 2, 2)]))


def fmha_varlen(shape):
    """Lengths from a quarter of the longest to all of it, in whole tiles; rows beyond a length are not compared."""
    b, h, s, d = _bhsd(shape)
    q, k, v = (normal(b, h, s, d) for _ in range(3))
    lengths = [s * (i % 4 + 1) // 4 for i in range(b)]

    def reference():
        out = torch.full((b, h, s, d), float("nan"), device=DEVICE)
        for i, n in enumerate(lengths):
            out[i:i + 1, :, :n] = attention(q[i:i + 1, :, :n], k[i:i + 1, :, :n], v[i:i + 1, :, :n])
        return {"Out": out}

    return Case(
        {
            "Q": q, "K": k, "V": v, "Q_lens": ints(lengths), "KV_lens": ints(lengths), "Out": empty(b, h, s, d),
            "qk_scale": d**-0.5, "TILE_D": d, "H": h, "S_QO": s, "S_KV": s, "QUERY_GROUP_SIZE": 0, "CAUSAL": True,
            "Q_LEN_MASK": True, "KV_LEN_MASK": True}, ["Out"], reference, lambda c: (cdiv(s, c["TILE_M"]), b * h),
        _tiles([(256, 128, 1, 1), (128, 128, 1, 2), (128, 64, 1, 2), (64, 64, 1, 4), (64, 128, 1, 2), (256, 64, 1, 1),
                (128, 128, 1, 1)]))


def attention_sink(shape):
    b, h, s, d = _bhsd(shape)
    q, k, v, sinks = normal(b, h, s, d), normal(b, shape["K"], s, d), normal(b, shape["K"], s, d), normal(h)

    def reference():  # One head at a time: a column more, of the sink, and then without it.
        out = torch.empty(b, h, s, d, device=DEVICE)
        above = torch.ones(s, s, dtype=torch.bool, device=DEVICE).triu(1)
        for i in range(h):
            kv = i * shape["K"] // h
            logits = (q[:, i].float() @ k[:, kv].float().mT * 0.125).masked_fill_(above, float("-inf"))
            both = torch.cat([logits, sinks[i].float().expand(b, s, 1)], -1).softmax(-1)
            out[:, i] = both[..., :-1] @ v[:, kv].float()
        return {"Out": out}

    return Case(
        {
            "Q": q, "K": k, "V": v, "Sinks": sinks, "Out": empty(b, h, s, d), "Start_q": ints([0]), "qk_scale": 0.125,
            "TILE_D": d, "H": h, "N_KV_CTX": s, "QUERY_GROUP_SIZE": h // shape["K"], "BANDWIDTH": 0}, ["Out"],
        reference, lambda c: (cdiv(s, c["TILE_M"]), b * h),
        _tiles([(m, n, 1, o) for m in (256, 128, 64) for n in (128, 64) for o in (1, 2, 4)]))


def swa_attention(shape):
    """A window of 1024."""
    b, h, s, d = _bhsd(shape)
    q, k, v = (normal(b * h * s, d) for _ in range(3))

    def reference():
        row = torch.arange(s, device=DEVICE)
        seen = (row[None] <= row[:, None]) & (row[None] > row[:, None] - 1024)
        out = [
            torch.nn.functional.scaled_dot_product_attention(*(t.view(b * h, s, d)[i].float()[None] for t in (q, k, v)),
                                                             attn_mask=seen) for i in range(b * h)]
        return {"Out": torch.cat(out).view(b * h * s, d)}

    return Case(
        {
            "Q": q, "K": k, "V": v, "Out": empty(b * h * s, d), "qk_scale": d**-0.5, "seq_k": s, "window_size": 1024,
            "stride_q": s // 64, "stride_kv": s // 128, "TILE_M": 64, "TILE_N": 128, "TILE_D": d, "CAUSAL": True},
        ["Out"], reference, lambda c: (s // 64, b * h))


def flash_decode(shape):
    """The first of the operator's two launches, which is this kernel."""
    b, h, s, d = _bhsd(shape)
    kv = shape["K"]
    group = h // kv
    split = max(128, pow2(cdiv(s, max(1, sms() // (b * kv)))))
    parts = cdiv(s, split)
    q, k, v = normal(b, kv, group, d), normal(b, kv, s, d), normal(b, kv, s, d)

    def reference():
        out, lse = torch.empty(b, kv, group, parts, d, device=DEVICE), torch.empty(b, kv, group, parts, device=DEVICE)
        for p in range(parts):
            part = slice(p * split, (p + 1) * split)
            logits = q.float() @ k[:, :, part].float().mT * d**-0.5
            out[:, :, :, p], lse[..., p] = logits.softmax(-1) @ v[:, :, part].float(), logits.logsumexp(-1) * LOG2E
        return {"Att_Out": out, "LSE_Out": lse}

    return Case(
        {
            "Q": q, "K": k, "V": v, "Att_Out": empty(b, kv, group, parts, d), "LSE_Out": empty(
                b, kv, group, parts, dtype=FLOAT), "softmax_scale": d**-0.5, "stride_mid_ob": h * parts * d,
            "stride_mid_oh": parts * d, "stride_mid_os": d, "stride_mid_lseb": h * parts, "stride_mid_lsem": parts, "B":
            b, "H_qo": h, "H_kv": kv, "S_kv": s, "HEAD_DIM": d, "TILE_N": 128, "KV_LEN_PER_SPLIT": split,
            "NUM_Q_HEAD_PER_KV": group, "QUERY_GROUP_TILE_SIZE": max(8, pow2(group)), "NUM_KV_SPLITS": parts},
        ["Att_Out", "LSE_Out"],
        reference,
        lambda c: (b, kv, parts),
        tolerance=1e-2)


def splitk_reduce(shape):
    b, h, parts, d = (shape[name] for name in "BHPD")
    out, lse = normal(b, h, parts, d), normal(b, h, parts, dtype=FLOAT)
    return Case(
        {
            "attn_splitk_out": out, "lse_splitk_out": lse, "attn_out": empty(b, h, d), "B": b, "S_KV": 4096,
            "NUM_HEADS": h, "HEAD_DIM": d, "NUM_KV_SPLITS": parts, "NUM_KV_SPLITS_POW2": pow2(parts), "TILE_D": min(
                128, pow2(d)), "USE_DOT": pow2(parts) >= 16}, ["attn_out"],
        lambda: {"attn_out": (
            (lse / LOG2E).softmax(-1)[..., None] * out.float()).sum(2)}, lambda c: (b, h, cdiv(d, min(128, pow2(d)))))


def mla(shape):
    b, h, s, d = _bhsd(shape)
    q, qpe, k, kpe, v = normal(b, h, s, d), normal(b, h, s, 64), normal(b, h, s, d), normal(b, 1, s,
                                                                                            64), normal(b, h, s, d)
    scale = (d + 64)**-0.5
    return Case(
        {
            "Q": q, "QPE": qpe, "K": k, "KPE": kpe, "V": v, "Out": empty(b, h, s, d), "qk_scale": scale, "TILE_D": d,
            "TILE_KPE": 64, "H": h, "QUERY_GROUP_SIZE": 0}, ["Out"], lambda: {
                "Out": attention(torch.cat([q, qpe], -1), torch.cat([k, kpe.expand(b, h, s, 64)], -1), v, scale=scale)},
        lambda c: (cdiv(s, c["TILE_M"]), b * h),
        _tiles([(m, n, 1, 1) for m in (64, 128, 256) for n in (64, 128)] +
               [(m, n, 1, 2) for m in (64, 128) for n in (64, 128)]))


def mla_decoding(shape):
    """Keys and values are one tensor, as the package passes them."""
    b, h, s, d = _bhsd(shape)
    q, qpe, kv, kpe = normal(b, h, d), normal(b, h, 64), normal(b, s, d), normal(b, s, 64)
    scale = (d + 64)**-0.5

    def reference():
        logits = (q.float() @ kv.float().mT + qpe.float() @ kpe.float().mT) * scale
        return {"Out": logits.softmax(-1) @ kv.float(), "L": logits.logsumexp(-1) * LOG2E}

    return Case(
        {
            "Q": q, "QPE": qpe, "K": kv, "V": kv, "KPE": kpe, "Out": empty(b, h, d), "L": empty(
                b, h, dtype=FLOAT), "sm_scale": scale, "TILE_D": d, "TILE_H": 16, "TILE_N": 64, "TILE_KPE": 64, "S_KV":
            s, "EVEN_N": s % 64 == 0}, ["Out", "L"],
        reference,
        lambda c: (cdiv(h, 16), b),
        tolerance=1e-2)


def _pages(b, s, kv, d, size):
    """A cache of pages in random order, the table of each sequence's, and the caches by sequence."""
    count = b * s // size
    k, v = normal(count, size, kv, d), normal(count, size, kv, d)
    table = torch.randperm(count, device=DEVICE).to(INT)
    by_sequence = [t[table.long()].view(b, s, kv, d).transpose(1, 2) for t in (k, v)]
    return k, v, table, by_sequence


def paged_prefill(shape):
    """Whole sequences of one length, pages of 64."""
    b, h, s, d = _bhsd(shape)
    kv, size = shape["K"], 64
    k, v, table, (keys, values) = _pages(b, s, kv, d, size)
    q = normal(b * s, h, d)
    lengths, offsets = ints([s] * b), ints([i * s for i in range(b)])

    def reference():
        parts = [
            attention(q.view(b, s, h, d)[i:i + 1].transpose(1, 2), keys[i:i + 1], values[i:i + 1]) for i in range(b)]
        return {"output": torch.cat(parts).transpose(1, 2).reshape(b * s, h, d)}

    return Case(
        {
            "query": q, "key_cache": k, "value_cache": v, "actual_seq_lens_q": lengths, "actual_seq_lens_kv": lengths,
            "batch_offsets": offsets, "block_tables": table, "output": empty(b * s, h, d), "lse_output": empty(
                b * s, h, dtype=FLOAT), "K_SCALE": d**-0.5, "V_SCALE": 1.0, "N_KV_HEADS": kv, "PAGE_SIZE": size,
            "BLOCK_D": d, "BLOCK_R": 0, "QUERY_GROUP_SIZE": h // kv, "stride_block_table": s // size, "IS_CAUSAL": True
        }, ["output", "lse_output"], reference, lambda c: (b, h, cdiv(s, c["BLOCK_M"])),
        [{"BLOCK_M": 128, "BLOCK_N": n, "LOAD_BLOCK_N": min(n, size), "occupancy": 1} for n in (32, 64, 128)])


def paged_decode(shape):
    """Lengths from a quarter of the longest to all of it, pages of 64, one query each; no split."""
    b, h, s, d = _bhsd(shape)
    kv, size = shape["K"], 64
    k, v, table, (keys, values) = _pages(b, s, kv, d, size)
    q = normal(b, h, d)
    lengths = [s * (i % 4 + 1) // 4 for i in range(b)]
    group = h // kv

    def reference():
        parts = [
            attention(q[i][None, :, None], keys[i:i + 1, :, :n], values[i:i + 1, :, :n], causal=False)
            for i, n in enumerate(lengths)]
        return {"output": torch.cat(parts).view(1, b, h, d)}

    return Case(
        {
            "q": q, "k_cache": k, "v_cache": v, "actual_seq_lens": ints(lengths), "block_tables": table, "output":
            empty(1, b, h, d), "lse_out": empty(1, dtype=FLOAT), "K_SCALE": d**-0.5, "V_SCALE": 1.0, "N_KV_HEADS": kv,
            "PAGE_SIZE": size, "BLOCK_D": d, "QUERY_GROUP_SIZE": group, "NUM_KV_SPLITS": 1, "KV_LEN_PER_SPLIT": -1,
            "HAS_LSE_OUT": False, "stride_block_table": s // size, "TRANS_QK": True, "USE_GATHER_PAGE_LOAD": True},
        ["output"], reference, lambda c: (b, kv * c["NUM_HEAD_BLOCKS"], 1), [{
            "BLOCK_H": 8, "BLOCK_N": n, "occupancy": o, "NUM_HEAD_BLOCKS": group // 8, "LOAD_BLOCK_N": min(n, size),
            "NUM_PAGES_PER_BLOCK": n // size} for n in (64, 128) for o in (1, 2)])
