"""Small kernels in the forms that are found in public Triton code: what triton_export_test.py exports."""
import triton
import triton.language as tl
from triton.experimental import gluon

from tuneonce.export import (ConstantOf, Declaration, blocks, ceil_div, derived, descriptor, dim, product, scalar, stride, tensor,
                             tensors, workspace)

BY_ROWS = {"pattern": "tile_coverage", "tiles": [["M", 1]]}
BY_BLOCK = {"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]}


def vectors(**more):
    return Declaration(dims=["N"], parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"), dim("N")],
                       **{"grid": BY_BLOCK, **more})


def rows(**more):
    """x and y by rows, with the stride of each."""
    return Declaration(
        dims=["M", "N"], grid=BY_ROWS,
        parameters=[tensor("x", "float16", ["M", "N"]), tensor("y", "float16", ["M", "N"], "out"),
                    stride("x", 0, name="x_stride"), stride("y", 0, name="y_stride"), dim("M"), dim("N")], **more)


def matrices(**more):
    return Declaration(
        dims=["M", "N", "K"],
        parameters=[tensor("a", "float16", ["M", "K"]), tensor("b", "float16", ["K", "N"]),
                    tensor("c", "float16", ["M", "N"], "out"), dim("M"), dim("N"), dim("K"),
                    *(stride(t, d, name=f"stride_{t}{n}") for t, names in (("a", "mk"), ("b", "kn"), ("c", "mn"))
                      for d, n in enumerate(names))],
        **{"grid": {"pattern": "tile_coverage", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]}, **more})


@triton.jit
def copied(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


copied_bundle = vectors(axes={"BLOCK": [256, 1024]}, hint_axes={"num_warps": [2, 4]}, baseline={"BLOCK": 256, "num_warps": 4})
small, small_bundle = copied, vectors(axes={"BLOCK": [256]}, example={"dims": {"N": 1000}})
named, named_bundle = copied, vectors(axes={"BLOCK": [256]}, space="occupancy_only")


@triton.jit
def one_by_one(x, y):
    at = tl.program_id(0)
    tl.store(y + at, tl.load(x + at) * 2)


one_by_one_bundle = Declaration(dims=["N"], parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out")],
                                grid={"pattern": "one_d", "tiles": [["N", 1]]})


@triton.jit
def softmax(x, y, x_stride, y_stride, M, N, WIDTH: tl.constexpr, num_stages: tl.constexpr):
    at = tl.arange(0, WIDTH)
    for row in tl.range(tl.program_id(0), M, tl.num_programs(0), num_stages=num_stages):
        values = tl.load(x + row * x_stride + at, mask=at < N, other=-float("inf")).to(tl.float32)
        powers = tl.exp(values - tl.max(values, axis=0))
        tl.store(y + row * y_stride + at, (powers / tl.sum(powers, axis=0)).to(tl.float16), mask=at < N)


softmax_bundle = rows(axes={"WIDTH": [1024]}, hint_axes={"num_stages": [2, 4], "num_warps": [8]})
softmax_once, softmax_once_bundle = softmax, rows(constants={"WIDTH": 1024, "num_stages": 2, "num_warps": 8})


ON_HOPPER = triton.runtime.driver.active.get_current_target().arch >= 90  # As files ask that were written for several GPUs.


def tiles(m, n, warps, stages, **more):
    return triton.Config({"TILE_M": m, "TILE_N": n, "TILE_K": 32}, num_warps=warps, num_stages=stages, **more)


@triton.autotune(configs=[tiles(128, 64, 4, 3), tiles(64, 64, 4, 4, num_ctas=2 if ON_HOPPER else 1),
                          tiles(64, 128, 8, 4, maxnreg=128)],
                 key=["M", "N", "K"])
@triton.jit
def matmul(a, b, c, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn, TILE_M: tl.constexpr,
           TILE_N: tl.constexpr, TILE_K: tl.constexpr, ACTIVATION: tl.constexpr = ""):
    m = tl.program_id(0) * TILE_M + tl.arange(0, TILE_M)
    n = tl.program_id(1) * TILE_N + tl.arange(0, TILE_N)
    k = tl.arange(0, TILE_K)
    from_a = a + (m % M)[:, None] * stride_am + k[None, :] * stride_ak
    from_b = b + k[:, None] * stride_bk + (n % N)[None, :] * stride_bn
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for begin in range(0, K, TILE_K):
        left = tl.load(from_a, mask=k[None, :] < K - begin, other=0.0)
        total = tl.dot(left, tl.load(from_b, mask=k[:, None] < K - begin, other=0.0), total)
        from_a += TILE_K * stride_ak
        from_b += TILE_K * stride_bk
    if ACTIVATION == "relu":
        total = tl.maximum(total, 0)
    tl.store(c + m[:, None] * stride_cm + n[None, :] * stride_cn, total.to(tl.float16), mask=(m[:, None] < M) & (n[None, :] < N))


matmul_bundle = matrices()
ragged, ragged_bundle = matmul, matrices(unaligned=[["N"]])
relu, relu_bundle = matmul, matrices(axes={"TILE_M": [64]}, constants={"TILE_N": 64, "TILE_K": 64, "ACTIVATION": "relu"},
                                     hint_axes={"occupancy": [1, 2]})


@triton.jit
def layer_norm(x, y, w, b, mean, rstd, x_stride, N, eps, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, WIDTH)
    values = tl.load(x + row * x_stride + at, mask=at < N, other=0.0).to(tl.float32)
    average = tl.sum(values, axis=0) / N
    centred = tl.where(at < N, values - average, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, axis=0) / N + eps)
    tl.store(mean + row, average)
    tl.store(rstd + row, scale)
    scaled = centred * scale * tl.load(w + at, mask=at < N, other=0.0)
    if b is not None:
        scaled += tl.load(b + at, mask=at < N, other=0.0)
    tl.store(y + row * x_stride + at, scaled.to(tl.float16), mask=at < N)


layer_norm_bundle = Declaration(
    dims=["M", "N"], grid=BY_ROWS, axes={"WIDTH": [1024, 4096]}, where=["N <= WIDTH"], constants={"b": None},
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("y", "float16", ["M", "N"], "out"), tensor("w", "float16", ["N"]),
                tensor("mean", "float32", ["M"], "out"), tensor("rstd", "float32", ["M"], "out"),
                derived("x_stride", "N"), dim("N"), scalar("eps", "float32", warmup=1e-5)])


@triton.jit
def dropout(x, y, n, p, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    kept = tl.rand(seed, at) > p
    tl.store(y + at, tl.where(kept, tl.load(x + at, mask=at < n) / (1 - p), 0.0), mask=at < n)


dropout_bundle = Declaration(
    dims=["N"], axes={"BLOCK": [1024]}, grid=BY_BLOCK, divisible={"seed": 16},
    parameters=[tensor("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"), dim("N"),
                scalar("p", "float32", warmup=0.5), scalar("seed", "int32", warmup=1)])


@triton.autotune(configs=[triton.Config({"BLOCK": b}, num_warps=4, num_stages=2) for b in (512, 1024)], key=["n"])
@triton.heuristics({"WHOLE": lambda args: args["BLOCK"] % args["PART"] == 0, "num_warps": lambda args: args["BLOCK"] // 128})
@triton.jit
def by_constants(x, y, n, BLOCK: tl.constexpr, PART: tl.constexpr, WHOLE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    if WHOLE:
        values *= 3
    tl.store(y + at, values, mask=at < n)


by_constants_bundle = vectors(constants={"PART": 1024})


@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def by_extent(x, y, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=None if EVEN else at < n), mask=None if EVEN else at < n)


by_extent_bundle = vectors(axes={"BLOCK": [256]})
known, known_bundle = by_extent, vectors(axes={"BLOCK": [256]}, constants={"n": ConstantOf("N", [1000, 4096])})
uneven, uneven_bundle = by_extent, vectors(axes={"BLOCK": [256]}, constants={"EVEN": False})


@triton.heuristics({"BLOCK": lambda args: 128 * args["WARPS"], "WARPS": lambda args: 2})
@triton.jit
def settled(x, y, n, WARPS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


settled_bundle = vectors(constants={"WARPS": 2}, grid=blocks(ceil_div("N", "BLOCK")))
astray, astray_bundle = settled, vectors(constants={"WARPS": 2}, grid=blocks(ceil_div("N", "TILE")))


@triton.jit
def long_rows(x, y, stride_x: tl.int64, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(y + tl.program_id(0) * BLOCK + at, tl.load(x + tl.program_id(0) * stride_x + at, mask=at < n, other=0.0))


long_rows_bundle = Declaration(
    dims=["M", "N", "P"], parameters=[tensor("x", "float32", ["M", "N"]), tensor("y", "float32", ["M", "P"], "out"),
                                      stride("x", 0, name="stride_x"), dim("N")],
    axes={"BLOCK": [256]}, grid=blocks("M"))


def zero_first(arguments):
    arguments["y"].zero_()


@triton.autotune(configs=[triton.Config({"BLOCK": b, "waves_per_eu": w}, num_warps=4, pre_hook=zero_first)
                          for b in (256, 64, 2048) for w in (1, 2)],
                 key=["n"], prune_configs_by={"early_config_prune": lambda configs, arguments, **_: configs})
@triton.jit
def pruned(x, y, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK >= 128)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


pruned_bundle = vectors()


@triton.autotune(configs=[triton.Config({"BLOCK": 128 << b}, num_warps=1 << w) for b in range(7) for w in range(5)], key=["n"])
@triton.jit
def many(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


many_bundle = vectors()


@triton.autotune(configs=[triton.Config({"BLOCK": 1024}), triton.Config({"BLOCK": 512})], key=["n"], reset_to_zero=["y"])
@triton.jit
def summed(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(y + at, tl.load(x + at, mask=at < n), mask=at < n)


summed_bundle = vectors()


@triton.jit
def described(x, y, n, BLOCK: tl.constexpr):
    made = tl.make_tensor_descriptor(x, [n], [1], [BLOCK])
    at = tl.program_id(0) * BLOCK
    tl.store(y + at + tl.arange(0, BLOCK), made.load([at]))


described_bundle = vectors(axes={"BLOCK": [256]})


@triton.jit
def handed_a_descriptor(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(y + at + tl.arange(0, BLOCK), x.load([at]))


handed_a_descriptor_bundle = vectors(axes={"BLOCK": [256]})


@triton.jit
def broken(x, y, n, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), not_defined)  # noqa: F821


broken_bundle = vectors(axes={"BLOCK": [256]})


def plain(x, y):
    pass


plain_bundle = vectors(axes={"BLOCK": [256]})
no_value, no_value_bundle = copied, vectors(grid={"pattern": "fixed", "blocks": [1]})
no_axis, no_axis_bundle = copied, vectors(axes={"BLOCK": [256], "TILE": [1]})
no_constant, no_constant_bundle = copied, vectors(axes={"BLOCK": [256]}, constants={"TILE": 1})
raced, raced_bundle = copied, vectors(axes={"backend": ["tile", "triton"], "BLOCK": [256]},
                                      baseline={"backend": "triton", "BLOCK": 256})


@triton.jit
def mapped(a, b_desc, c, K, TILE_M: tl.constexpr, TILE_N: tl.constexpr, TILE_K: tl.constexpr):
    m, n = tl.program_id(0) * TILE_M, tl.program_id(1) * TILE_N
    total = tl.zeros((TILE_M, TILE_N), dtype=tl.float32)
    for k in range(0, K, TILE_K):
        total = tl.dot(a.load([m, k]), b_desc.load([k, n]), total)
    c.store([m, n], total.to(tl.float16))


def maps(depths=(64,), a_box=("TILE_M", "TILE_K")):
    """A descriptor that is called as its tensor in the kernel, and one that has a name of its own."""
    return Declaration(
        dims=["M", "N", "K"],
        parameters=[tensor("a", "float16", ["M", "K"]), descriptor("a_map", "a", a_box, l2_promotion="256B"),
                    tensor("b", "float16", ["K", "N"]), descriptor("b_desc", "b", ["TILE_K", {"axis": "TILE_N"}]),
                    tensor("c", "float16", ["M", "N"], "out"), descriptor("c_map", "c", ["TILE_M", "TILE_N"]), dim("K")],
        axes={"TILE_M": [64, 128], "TILE_N": [64, 128], "TILE_K": list(depths)},
        grid={"pattern": "tile_coverage", "tiles": [["M", {"axis": "TILE_M"}], ["N", {"axis": "TILE_N"}]]})


mapped_bundle = maps()
mapped_by_widths, mapped_by_widths_bundle = mapped, maps(depths=(32, 64))
mapped_by_a_name, mapped_by_a_name_bundle = mapped, maps(a_box=("TILE_X", "TILE_K"))


@triton.jit
def mapped_and_pointed(x, x_map, y, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK
    tl.store(y + at + tl.arange(0, BLOCK), x_map.load([at]) + tl.load(x))


mapped_and_pointed_bundle = Declaration(
    dims=["N"], parameters=[tensor("x", "float32", ["N"]), descriptor("x_map", "x", ["BLOCK"]), tensor("y", "float32", ["N"], "out")],
    axes={"BLOCK": [128]}, grid={"pattern": "one_d", "tiles": [["N", {"axis": "BLOCK"}]]})


@triton.jit
def remembered(x, y, copies, N, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < N, other=0.0)
    tl.store(copies + at, values.to(tl.float32))
    tl.store(y + at, (values.to(tl.float32) * 2).to(y.dtype.element_ty), mask=at < N)


remembered_bundle = Declaration(
    dims=["N"], dtypes=["float16", "bfloat16"], axes={"BLOCK": [1024]}, grid=BY_BLOCK,
    parameters=[*tensors("x", "float16", ["N"]), *tensors("y", "float16", ["N"], "out"),
                workspace("copies", product(ceil_div("N", "BLOCK"), "BLOCK"), "float32"), dim("N")])


@triton.jit
def attended(q, k, v, o, n, T, K: tl.constexpr, V: tl.constexpr, N: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at, to = tl.arange(0, K), tl.arange(0, V)
    weight = tl.sum(tl.load(q + row * K + at).to(tl.float32) * tl.load(k + row * K + at).to(tl.float32), axis=0)
    weight *= tl.load(n + row % N)
    tl.store(o + row * V + to, (weight * tl.load(v + row * V + to).to(tl.float32)).to(tl.float16), mask=row < T)


def attention(**more):
    """As in flash-linear-attention: tensors k, v and n with constants K, V and N."""
    return Declaration(
        dims=["T", "K", "V", "N"], grid={"pattern": "one_d", "tiles": [["T", 1]]},
        constants={"K": ConstantOf("K", [64]), "V": ConstantOf("V", [128]), "N": 4},
        parameters=[*tensors("q k", "float16", ["T", "K"]), tensor("v", "float16", ["T", "V"]),
                    tensor("o", "float16", ["T", "V"], "out"), tensor("n", "float32", ["N"]), dim("T")], **more)


attended_bundle = attention(axes={"BLOCK": [32, 64]})


def keyed(*names):
    return triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (32, 64)], key=list(names))(attended)


by_constexprs, by_constexprs_bundle = keyed("K", "V", "BLOCK"), attention()
by_a_dims_name, by_a_dims_name_bundle = keyed("N", "K"), attention()
by_nothing, by_nothing_bundle = keyed("BLOCK"), attention()
by_own_key, by_own_key_bundle = keyed("BLOCK"), attention(key=[{"dim": "T"}])


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (256, 512)],
                 key=["x_stride", "y_stride", "count", "EVEN", "y"])
@triton.heuristics({"EVEN": lambda args: args["WIDTH"] % args["BLOCK"] == 0})
@triton.jit
def by_strides(x, y, x_stride, y_stride, count, WIDTH: tl.constexpr, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    row = tl.program_id(0)
    for begin in range(0, WIDTH, BLOCK):
        at = begin + tl.arange(0, BLOCK)
        tl.store(y + row * y_stride + at, tl.load(x + row * x_stride + at, mask=None if EVEN else at < count))


by_strides_bundle = Declaration(
    dims=["B", "M", "N"], grid=BY_ROWS, constants={"WIDTH": ConstantOf("N", [1024])},
    parameters=[tensor("x", "float16", ["M", "N"]), tensor("y", "float16", ["B", "M", "N"], "out"),
                derived("x_stride", product("N", 1)), stride("y", 0, name="y_stride"),
                scalar("count", "int32", warmup=1024)])


@triton.jit
def flattened(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < n), mask=at < n)


def rows_as_one(*extents):
    return Declaration(
        dims=["M", "H"], axes={"BLOCK": [1024]}, grid=blocks(ceil_div(product("M", "H"), "BLOCK")),
        parameters=[tensor("x", "float16", ["M", "H"]), tensor("y", "float16", ["M", "H"], "out"), derived("n", product(*extents))])


flattened_bundle = rows_as_one("M", "H")
by_sixteens, by_sixteens_bundle = flattened, rows_as_one("M", 32)


@triton.autotune(configs=[triton.Config({"BLOCK": b}) for b in (256, 512)], key=["M_BUCKET", "N"])
@triton.jit
def by_a_callers_bucket(x, y, M, N: tl.constexpr, M_BUCKET: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(x + at, mask=at < M * N), mask=at < M * N)


by_a_callers_bucket_bundle = Declaration(
    dims=["M", "N"], parameters=[tensor("x", "float16", ["M", "N"]), tensor("y", "float16", ["M", "N"], "out"), dim("M")],
    constants={"N": ConstantOf("N", [4096]), "M_BUCKET": 0}, grid=blocks("M", ceil_div("N", "BLOCK")))


@triton.jit
def awaited(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.extra.cuda.gdc_wait()
    values = tl.load(x + at, mask=at < n)
    tl.extra.cuda.gdc_launch_dependents()
    tl.store(y + at, values, mask=at < n)


def overlapped(*launches, kernel=awaited):
    return triton.autotune(configs=[triton.Config({"BLOCK": 256 << i, **launch}) for i, launch in enumerate(launches)],
                           key=["n"])(kernel)


awaited_bundle = vectors(axes={"BLOCK": [256]}, constants={"launch_pdl": True})
forgotten, forgotten_bundle = awaited, vectors(axes={"BLOCK": [256]})
early, early_bundle = copied, vectors(axes={"BLOCK": [256]}, constants={"launch_pdl": True})
configured, configured_bundle = overlapped({"launch_pdl": True}, {"launch_pdl": True}), vectors()
divided, divided_bundle = overlapped({"launch_pdl": True}, {}), vectors()
cooperative, cooperative_bundle = overlapped({"launch_cooperative_grid": True}, {}, kernel=copied), vectors()


@triton.heuristics({"HAS_WEIGHT": lambda args: args["w"] is not None, "HAS_BIAS": lambda args: args["b"] is not None,
                    "WIDE": lambda args: args.get("PART") is None})
@triton.jit
def weighted(x, y, w, b, n, GROUP, BLOCK: tl.constexpr, HAS_WEIGHT: tl.constexpr, HAS_BIAS: tl.constexpr, WIDE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n)
    if HAS_WEIGHT:
        values *= tl.load(w + at // GROUP, mask=at < n)
    if HAS_BIAS:
        values += tl.load(b + at, mask=at < n)
    tl.store(y + at, values, mask=at < n)


weighted_bundle = Declaration(
    dims=["N", "G"], parameters=[*tensors("x", "float32", ["N"]), tensor("y", "float32", ["N"], "out"), tensor("w", "float32", ["G"]),
                                 dim("N"), derived("GROUP", 128)],
    grid=BY_BLOCK, axes={"BLOCK": [256]}, constants={"b": None, "WIDE": True})
told = triton.heuristics({"EVEN": lambda args: args["x"].numel() > 4})(by_extent.fn)
told_bundle = vectors(axes={"BLOCK": [256]})


@triton.jit
def tupled(xs, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(xs[0] + at, mask=at < n) + tl.load(xs[1] + at, mask=at < n), mask=at < n)


tupled_bundle = Declaration(dims=["N"], parameters=[tensor("xs", "float32", ["N"]), tensor("y", "float32", ["N"], "out"), dim("N")],
                            grid=BY_BLOCK, axes={"BLOCK": [256]})


@triton.jit
def pointed(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.load(tl.load(x).to(tl.pointer_type(tl.float32)) + at, mask=at < n), mask=at < n)


pointed_bundle = vectors(axes={"BLOCK": [256]})


@gluon.jit
def low_level(x, y, n, BLOCK: tl.constexpr):
    pass


low_level_bundle = vectors(axes={"BLOCK": [256]})
