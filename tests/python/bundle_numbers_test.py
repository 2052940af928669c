#!/usr/bin/env python3
"""The shipped bundles compute what numpy computes, on the CPU device: bundle_numbers_test.py BUNDLES_FOLDER [NAME ...].
Needs tuneonce and numpy."""
import pathlib
import sys

import numpy as np

import tuneonce
from running import expect, run_tests

folder = pathlib.Path(sys.argv[1])


def kernel_of(name):
    return tuneonce.TunedKernel(folder / name, "cpu", store="memory")


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def test_bundles_compute_what_numpy_computes():
    half = np.float16
    x, w, y = np.random.randn(33, 100).astype(half), np.random.randn(100).astype(half), np.zeros((33, 100), half)
    kernel_of("rms_norm")(x, w, y, 1e-5)
    f = x.astype(np.float32)
    np.testing.assert_allclose(y, f / np.sqrt((f * f).mean(1, keepdims=True) + 1e-5) * w, rtol=5e-3, atol=5e-3)
    g, s = np.random.rand(33, 100).astype(np.float32), np.zeros((33, 100), np.float32)
    kernel_of("softmax")(g, s)
    np.testing.assert_allclose(s, softmax(g), rtol=1e-5)
    both, out = np.random.randn(33, 200).astype(half), np.zeros((33, 100), half)
    kernel_of("silu_and_mul")(both, out)
    gate, up = both[:, :100].astype(np.float32), both[:, 100:].astype(np.float32)
    np.testing.assert_allclose(out, gate / (1 + np.exp(-gate)) * up, rtol=5e-3, atol=5e-3)
    q, angle = np.random.randn(5, 6, 128).astype(half), np.random.randn(5, 64).astype(np.float32)
    low, high, c, sn = q[..., :64].astype(np.float32), q[..., 64:].astype(np.float32), np.cos(angle)[:, None], np.sin(angle)[:, None]
    expected = np.concatenate([low * c - high * sn, high * c + low * sn], -1)
    kernel_of("rope")(q, np.cos(angle), np.sin(angle))
    np.testing.assert_allclose(q, expected, rtol=5e-3, atol=5e-3)
    a, b = np.random.randn(40, 24).astype(half), np.random.randn(24, 72).astype(half)
    for name in ("matmul", "persistent_matmul"):
        p = np.zeros((40, 72), half)
        kernel_of(name)(a, b, p)
        np.testing.assert_allclose(p, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-2, atol=2e-2)


def test_layer_norm_elementwise_dual_gemm_and_attention_compute_what_numpy_computes():
    half, single = np.float16, np.float32
    def random(*shape):
        return np.random.randn(*shape).astype(half)
    x, weight, bias, y = random(33, 100), random(100), random(100), np.zeros((33, 100), half)
    kernel_of("layer_norm")(x, weight, bias, y, 1e-5)
    f = x.astype(single)
    expected = (f - f.mean(1, keepdims=True)) / np.sqrt(f.var(1, keepdims=True) + 1e-5) * weight + bias
    np.testing.assert_allclose(y, expected, rtol=5e-3, atol=5e-3)
    g, z, e = random(3000), random(3000), np.zeros(3000, half)
    kernel_of("elementwise")(g, z, e)
    f = g.astype(single)
    gelu = 0.5 * f * (1 + np.tanh(np.sqrt(2 / np.pi) * (f + 0.044715 * f ** 3)))
    np.testing.assert_allclose(e, gelu * z, rtol=5e-3, atol=5e-3)
    a, gate, up, p = random(40, 24), random(24, 72) / 4, random(24, 72) / 4, np.zeros((40, 72), half)
    kernel_of("dual_gemm")(a, gate.astype(half), up.astype(half), p)
    gates, ups = (a.astype(single) @ w.astype(half).astype(single) for w in (gate, up))
    np.testing.assert_allclose(p, gates / (1 + np.exp(-gates)) * ups, rtol=1e-2, atol=2e-2)
    q, k, v, o = random(2, 6, 9, 64), random(2, 2, 21, 64), random(2, 2, 21, 64), np.zeros((2, 6, 9, 64), half)
    kernel = kernel_of("attention")
    for causal in (False, True):
        kernel(q, k, v, o, 0.125, causal)
        keys, values = (np.repeat(t.astype(single), 3, 1) for t in (k, v))
        scores = q.astype(single) @ keys.swapaxes(2, 3) * 0.125
        if causal:
            scores[..., np.arange(21)[None, :] > np.arange(9)[:, None] + 12] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        np.testing.assert_allclose(o, weights / weights.sum(-1, keepdims=True) @ values, rtol=5e-3, atol=5e-3)
    assert kernel.counters()["tunes"] == 2, "whether it is causal is part of the key"


def test_grouped_gemm_by_pointers_computes_what_numpy_computes_and_writes_nothing_else():
    half, single = np.float16, np.float32
    kernel = kernel_of("grouped_gemm_pointers")
    rows = np.array([5, 0, 1, 9], np.int32)
    x = [np.random.randn(max(count, 1), 24).astype(half) for count in rows]
    w = [np.random.randn(24, 72).astype(half) for _ in rows]
    y = [np.full((len(each) + 1, 72), 7, half) for each in x]  # A row more than is computed.
    for _ in range(2):
        kernel(tuneonce.PointerTable.of([np.vstack([each, each[:1]]) for each in x]), tuneonce.PointerTable.of(w), rows,
               tuneonce.PointerTable.of(y))
        for group, count in enumerate(rows):
            expected = x[group][:count].astype(single) @ w[group].astype(single)
            np.testing.assert_allclose(y[group][:count], expected, rtol=1e-2, atol=2e-2)
            np.testing.assert_array_equal(y[group][count:], 7)
    assert kernel.counters()["tunes"] == 1 and kernel.counters()["hits"] == 1
    table = tuneonce.PointerTable.of
    assert kernel.is_ready(table([np.zeros((10, 24), half)] * 4), table(w), rows, table(y))
    expect(TypeError, "parameter 'x': expected a tuneonce.PointerTable, got list",
           lambda: kernel(x, table(w), rows, table(y)))
    expect(TypeError, "parameter 'w': ", lambda: kernel(table(x), table([None]), rows, table(y)))
    frozen = np.zeros((10, 72), half)
    frozen.flags.writeable = False
    expect(TypeError, "parameter 'y': the array is read-only",
           lambda: kernel(table([np.zeros((10, 24), half)] * 4), table(w), rows, table([frozen] * 4)))
    expect(ValueError, "parameter 'x': tensor 1 of the table is float32[5, 24], but the first tensor is float16[5, 24]",
           lambda: kernel(table([x[0], x[0].astype(single)] * 2), table(w), rows, table(y)))
    kernel(table([]), table([]), np.zeros(0, np.int32), table([]))  # No groups: nothing to launch.
    kernel.warmup([{"M": 300, "E": 2, "K": 8, "N": 8}])
    assert kernel.counters()["tunes"] == 2


def test_grouped_gemm_and_varlen_attention_compute_what_numpy_computes():
    half, single = np.float16, np.float32
    def random(*shape):
        return np.random.randn(*shape).astype(half)
    x, w, y = random(40, 24), random(4, 24, 72), np.zeros((40, 72), half)
    offsets = np.array([0, 0, 1, 30, 40], np.int32)
    kernel_of("grouped_gemm")(x, w, offsets, y)
    for group in range(4):
        rows = slice(offsets[group], offsets[group + 1])
        np.testing.assert_allclose(y[rows], x[rows].astype(single) @ w[group].astype(single), rtol=1e-2, atol=2e-2)
    q, k, v, o = random(40, 6, 64), random(40, 2, 64), random(40, 2, 64), np.zeros((40, 6, 64), half)
    kernel_of("varlen_attention")(q, k, v, offsets, o, 0.125, True)
    for begin, end in zip(offsets, offsets[1:]):
        queries, keys, values = (t[begin:end].astype(single).swapaxes(0, 1) for t in (q, k, v))
        keys, values = np.repeat(keys, 3, 0), np.repeat(values, 3, 0)
        scores = queries @ keys.swapaxes(1, 2) * 0.125
        scores[:, np.arange(end - begin)[None, :] > np.arange(end - begin)[:, None]] = -np.inf
        weights = np.exp(scores - scores.max(-1, keepdims=True, initial=-1e30))
        expected = weights / weights.sum(-1, keepdims=True) @ values
        np.testing.assert_allclose(o[begin:end], expected.swapaxes(0, 1), rtol=5e-3, atol=5e-3)


def test_decode_attention_computes_what_numpy_computes_whatever_lies_behind_the_keys():
    half, single = np.float16, np.float32
    q, o = np.random.randn(3, 6, 64).astype(half), np.zeros((3, 6, 64), half)
    k, v = (np.random.randn(3, 2, 300, 64).astype(half) for _ in range(2))
    lengths, counters = np.array([300, 0, 77], np.int32), np.zeros((3, 6), np.int32)
    for sequence, length in enumerate(lengths):
        k[sequence, :, length:] = v[sequence, :, length:] = np.nan
    kernel = kernel_of("decode_attention")
    for splits in (None, 1, 4):
        if splits is not None:
            kernel.pin({"B": 3, "C": 300, "H": 6, "G": 2, "D": 64},
                       {"backend": "tile", "TILE_N": 64, "SPLITS": splits, "occupancy": 2, "num_warps": 0,
                        "num_stages": 0})
        kernel(q, k, v, lengths, o, counters, 0.125)
        for sequence, length in enumerate(lengths):
            keys, values = (np.repeat(t[sequence, :, :length].astype(single), 3, 0) for t in (k, v))
            scores = keys @ q[sequence].astype(single)[:, :, None] * 0.125
            weights = np.exp(scores - scores.max(1, keepdims=True, initial=-1e30))
            expected = (weights * values).sum(1) / np.maximum(weights.sum(1), 1e-30)
            np.testing.assert_allclose(o[sequence], expected, rtol=5e-3, atol=5e-3)
        assert not counters.any()


run_tests(globals(), sys.argv[2:])
