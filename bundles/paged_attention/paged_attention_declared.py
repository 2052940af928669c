"""What the kernel of paged_attention.py is, and what it is launched with.

o = softmax(scale q k^T) v within each of S sequences, whose new queries follow each other in q and o (T, H, D): sequence i
has the rows from cu_seqlens[i] up to, but not, cu_seqlens[i + 1]. cu_seqlens has one number more (OFFSETS) than there are
sequences, the first is 0, none is less than the one before. Rows behind the last one are left as they are. Its keys and
values, lengths[i] of each, lie in pages of the caches k and v (PAGES, PAGE, G, D), PAGE to a page: those from j PAGE on in
the page pages[i][j] (S, TABLE). What pages and tables hold behind them is not used. Of H heads each H / G, side by side,
share a head of k and v (GQA; MQA where G is 1). `causal`: the last query sees all keys, the one before it one key less, and
so on, so that parts of a prompt and decoding are the same call. A query that sees no key gets zeros. `scale` is usually
1 / sqrt(D). 16 divides PAGE.

Lengths and tables lie on the device, so the grid is an upper bound of the tiles: see
../varlen_attention/varlen_attention_declared.py. It is tuned where the new queries are shared out by Zipf's law, the tables
are full, and their pages are random ones. What it computes depends on the lengths, so that only its bytes are declared, of
full tables. Tolerance: see ../attention/attention_declared.py."""
from tuneonce.export import ConstantOf, Declaration, add, blocks, dim, floor_div, product, scalar, tensor, tensors

HEAD_DIMS = [64, 128]


def config(backend, tiles, occupancy=1, num_warps=0, num_stages=0):
    return {"backend": backend, "TILE_M": tiles[0], "TILE_N": tiles[1], "occupancy": occupancy,
            "num_warps": num_warps, "num_stages": num_stages}


paged_attention_bundle = Declaration(
    dims=["T", "S", "H", "G", "D", "PAGES", "PAGE", "TABLE", "OFFSETS"], dtypes=["float16", "bfloat16"],
    parameters=[tensor("q", "float16", ["T", "H", "D"]), *tensors("k v", "float16", ["PAGES", "PAGE", "G", "D"]),
                tensor("pages", "int32", ["S", "TABLE"], warmup={"uniform": [0, "PAGES"]}),
                tensor("lengths", "int32", ["S"], warmup=product("TABLE", "PAGE")),
                tensor("cu_seqlens", "int32", ["OFFSETS"], warmup={"offsets": ["T", 1]}),
                tensor("o", "float16", ["T", "H", "D"], "out", may_be_partial=True),
                scalar("scale", "float32", warmup=0.125), scalar("causal", "bool", warmup=True),
                *map(dim, ("S", "H", "G", "D", "PAGE", "TABLE"))],
    key=[{"dim": "T", "bucket": "next_pow2"}, {"dim": "S", "bucket": "next_pow2"}, {"dim": "H"}, {"dim": "G"}, {"dim": "D"},
         {"dim": "PAGE"}, {"value_of": "causal"}],
    constants={"D": ConstantOf("D", HEAD_DIMS)},
    configs=[
        *(config("tile", (16, tile_n), occupancy) for tile_n in (16, 64) for occupancy in (2, 4)),
        config("tile", (32, 16), 3), config("tile", (64, 16), 2), *(config("tile", (64, 64), occupancy) for occupancy in (1, 2, 4)),
        config("tile", (64, 128), 2), config("tile", (128, 16)),
        *(config("tile", (128, tile_n), occupancy) for tile_n in (64, 128) for occupancy in (1, 2)),
        *(config("triton", (16, tile_n), num_warps=4, num_stages=3) for tile_n in (16, 64)),
        config("triton", (128, 64), num_warps=8, num_stages=2),
        config("cuda", (32, 16)), config("cuda", (64, 16))],
    baseline=[{"config": config("tile", (64, 64), 2)}, {"config": config("tile", (64, 16), 2)}],
    where=["OFFSETS == S + 1",
           "H % G == 0",
           "PAGE % TILE_N == 0",
           "TILE_M <= max(64, 2 * T - 1)",
           '!(backend == "tile" && TILE_N == 128) || device.capability >= 90 && device.capability <= 110',
           'backend != "triton" || device.capability == 90',
           'backend != "cuda" || device.capability > 0'],
    grid=blocks(add(floor_div("T", "TILE_M"), "S"), "H"),
    alignments={"pages": 4, "lengths": 4, "cu_seqlens": 4}, cpu="paged_attention.cpu.cc",
    tolerance={"absolute": 4e-3, "relative": 1e-2},
    work={"bytes": [[4, "T", "H", "D"], [4, "S", "TABLE", "PAGE", "G", "D"]]},
    # 16 does not divide TABLE, so that no exporter takes for granted that it does: tables have any width.
    example={"dims": {"T": 2048, "S": 16, "OFFSETS": 17, "H": 32, "G": 8, "D": 128, "PAGES": 2048, "PAGE": 64, "TABLE": 63},
             "cpu_dims": {"T": 64, "S": 4, "OFFSETS": 5, "H": 4, "G": 2, "D": 64, "PAGES": 40, "PAGE": 16, "TABLE": 8},
             "scalars": {"scale": 0.08838834764831845, "causal": 1}})
