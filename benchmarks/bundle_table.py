#!/usr/bin/env python3
"""For each example bundle: our winner, the baseline, what cuTile's own search chooses from the same configs, and torch's
operator where there is one, raced against each other in one run (graphs of each timed by events, cold L2 cache).

bundle_table.py BUNDLES_FOLDER > JSON. Needs tuneonce, torch, PyPI's cuda-tile, tileiras where both find it.
"""
import importlib.util
import json
import pathlib
import sys

import torch

import tuneonce
from tuneonce import _tuneonce

import cuda.tile as ct

folder = pathlib.Path(sys.argv[1])
HALF = torch.float16


def module_of(name):
    sys.path.insert(0, str(folder / name))  # What its declaration is in.
    spec = importlib.util.spec_from_file_location(name, folder / name / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rand(*shape, dtype=HALF):
    return torch.rand(shape, device="cuda").to(dtype) - 0.5


def cases():
    """name -> (arguments of the bundle, arguments of the cuTile kernel, grid by config, torch's operator or None)"""
    x, w, y = rand(4096, 4096), rand(4096), rand(4096, 4096)
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    rows_of = lambda c: (4096 if c["ONE_ROW"] else min(4096, sms * c["occupancy"]),)  # noqa: E731
    by_rows = lambda c: (c["TILE_N"], c["LOOP"], c["ONE_ROW"])  # noqa: E731
    yield ("rms_norm", (x, w, y, 1e-5), lambda c: (x, w, y, 1e-5, *by_rows(c)), rows_of,
           lambda: torch.nn.functional.rms_norm(x, (4096,), w, 1e-5))
    bias = rand(4096)
    yield ("layer_norm", (x, w, bias, y, 1e-5), lambda c: (x, w, bias, y, 1e-5, *by_rows(c)), rows_of,
           lambda: torch.nn.functional.layer_norm(x, (4096,), w, bias, 1e-5))
    f, g = rand(4096, 4096, dtype=torch.float32), rand(4096, 4096, dtype=torch.float32)
    yield ("softmax", (f, g), lambda c: (f, g, *by_rows(c)), rows_of, lambda: torch.softmax(f, 1, out=g))
    gate, factor, product = rand(1 << 24), rand(1 << 24), rand(1 << 24)
    yield ("elementwise", (gate, factor, product), lambda c: (gate, factor, product, c["BLOCK"]),
           lambda c: (ct.cdiv(1 << 24, c["BLOCK"]),), None)
    both = rand(4096, 8192)
    yield ("silu_and_mul", (both, y), lambda c: (both, y, c["TILE_N"]), lambda c: (4096, ct.cdiv(4096, c["TILE_N"])), None)
    q, cos, sin = rand(4096, 32, 128), rand(4096, 64, dtype=torch.float32), rand(4096, 64, dtype=torch.float32)
    yield ("rope", (q, cos, sin), lambda c: (q, cos, sin, c["TILE_H"], c["HALF"]), lambda c: (4096,), None)
    a, b, p = rand(4096, 4096), rand(4096, 4096), rand(4096, 4096)
    tiles = lambda c: (ct.cdiv(4096, c["TILE_M"]), ct.cdiv(4096, c["TILE_N"]))  # noqa: E731
    constants = lambda c: (a, b, p, c["TILE_M"], c["TILE_N"], c["TILE_K"])  # noqa: E731
    yield "matmul", (a, b, p), constants, tiles, lambda: torch.mm(a, b, out=p)
    yield ("persistent_matmul", (a, b, p), constants,
           lambda c: (min(sms // c["num_ctas"], tiles(c)[0] * tiles(c)[1]) * c["occupancy"],), lambda: torch.mm(a, b, out=p))
    dual = (a, b, rand(4096, 4096), p)
    yield ("dual_gemm", dual, lambda c: (*dual, c["TILE_M"], c["TILE_N"], c["TILE_K"]), tiles, None)
    query, key, value, out = rand(2, 32, 4096, 128), *(rand(2, 8, 4096, 128) for _ in range(2)), rand(2, 32, 4096, 128)
    scale = 128 ** -0.5
    yield ("attention", (query, key, value, out, scale, True),
           lambda c: (query, key, value, out, scale, True, c["TILE_M"], c["TILE_N"], 128),
           lambda c: (ct.cdiv(4096, c["TILE_M"]), 32, 2),
           lambda: torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True))
    if torch.cuda.get_device_capability() >= (8, 9):
        a8, b8 = rand(4096, 4096).to(torch.float8_e4m3fn), rand(4096, 4096).to(torch.float8_e4m3fn)
        one = torch.ones(1, device="cuda")
        eight = (a8, b8, one, one, rand(4096, 4096, dtype=torch.bfloat16))
        yield ("fp8_matmul", eight, lambda c: (*eight, c["TILE_M"], c["TILE_N"], c["TILE_K"]), tiles,
               lambda: torch._scaled_mm(a8, b8.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16))
    offsets = torch.arange(0, 8193, 256, dtype=torch.int32, device="cuda")  # 32 groups, or sequences, of 256.
    grouped = (rand(8192, 4096), rand(32, 4096, 4096), offsets, rand(8192, 4096))
    yield ("grouped_gemm", grouped, lambda c: (*grouped, c["TILE_M"], c["TILE_N"], c["TILE_K"]),
           lambda c: (8192 // c["TILE_M"] + 32, ct.cdiv(4096, c["TILE_N"])), None)
    packed = (rand(8192, 32, 128), rand(8192, 8, 128), rand(8192, 8, 128), offsets, rand(8192, 32, 128), scale, True)
    yield ("varlen_attention", packed, lambda c: (*packed, c["TILE_M"], c["TILE_N"], 128),
           lambda c: (8192 // c["TILE_M"] + 32, 32), None)
    steps, cache = rand(16, 32, 128), (16, 8, 8192, 128)  # Sequences of half of their cache.
    half_full = torch.full((16,), 4096, dtype=torch.int32, device="cuda")
    decode = (steps, rand(*cache), rand(*cache), half_full, torch.empty_like(steps),
              torch.zeros(16, 32, dtype=torch.int32, device="cuda"), scale)
    parts = torch.empty(32 * 8 * 16 * 16 * 129, device="cuda")  # Of 32 splits.
    yield ("decode_attention", decode, lambda c: (*decode, parts[parts.numel() // 129:], parts[:parts.numel() // 129],
                                                  c["TILE_N"], 128),
           lambda c: (c["SPLITS"], 8, 16),
           lambda: torch.nn.functional.scaled_dot_product_attention(
               steps[:, :, None], decode[1][:, :, :4096], decode[2][:, :, :4096], scale=scale, enable_gqa=True))


rows = []
for name, arguments, constants, grid, operator in cases():
    module = module_of(name)
    kernel, declaration = getattr(module, name), getattr(module, name + "_bundle")
    configs = [c for c in declaration.all_configs("tile") if c.get("LOOP", 1) or c["TILE_N"] >= 4096]
    if name in ("attention", "varlen_attention") and torch.cuda.get_device_capability()[0] < 10:
        configs = [c for c in configs if c["TILE_M"] < 256]
    hints = lambda c: {name: c[name] for name in ("occupancy", "num_ctas") if name in c}  # noqa: E731
    tuned = tuneonce.TunedKernel(folder / name, store="memory")
    baseline = tuneonce.TunedKernel(folder / name, store="memory", mode="baseline_only")
    tuned(*arguments)
    baseline(*arguments)
    searched = ct.tune.exhaustive_search(configs, torch.cuda.current_stream(), grid, kernel, constants,
                                         hints, quiet=True)
    choice = searched.best.config
    variant = kernel.replace_hints(**hints(choice))
    launches = {"tuned": lambda on: tuned(*arguments, stream=on), "baseline": lambda on: baseline(*arguments, stream=on),
                "cutile_search": lambda on: ct.launch(on, grid(choice), variant, constants(choice))}
    if operator is not None:
        launches["torch"] = lambda on: operator()
    order = list(launches)

    def launch(index, on):
        stream = torch.cuda.ExternalStream(on)
        with torch.cuda.stream(stream):
            launches[order[index]](stream)

    raced = _tuneonce._race(len(order), launch, None, "cuda", "events")
    row = {"bundle": name, "configs": len(configs), "cutile_choice": choice}
    for which, outcome in zip(order, raced["configs"]):
        row[which + "_us"] = outcome.get("mean_us", outcome["error"])
    rows.append(row)
    print(row, file=sys.stderr)
print(json.dumps({"device": torch.cuda.get_device_name(), "bundles": rows}, indent=1))
