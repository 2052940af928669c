"""The kernels of Triton's tutorials, launched as the tutorials do."""
from case import Case, cdiv, pow2

from cases.tensors import FLOAT, empty, layer_norm_of, normal, sms


def vector_add(shape):
    n = shape["N"]
    x, y = normal(n, dtype=FLOAT), normal(n, dtype=FLOAT)
    return Case({"x_ptr": x, "y_ptr": y, "output_ptr": empty(n, dtype=FLOAT), "n_elements": n}, ["output_ptr"],
                lambda: {"output_ptr": x + y}, lambda c: (cdiv(n, 1024),), [{"BLOCK_SIZE": 1024}])


def softmax(shape):
    """The tutorial asks the compiled kernel how many of its blocks fit a multiprocessor; here it is two."""
    m, n = shape["M"], shape["N"]
    x = normal(m, n, dtype=FLOAT)
    return Case(
        {
            "output_ptr": empty(m, n, dtype=FLOAT), "input_ptr": x, "input_row_stride": n, "output_row_stride": n,
            "n_rows": m, "n_cols": n, "BLOCK_SIZE": pow2(n), "num_stages": 4}, ["output_ptr"],
        lambda: {"output_ptr": x.softmax(-1)}, lambda c: (min(2 * sms(), m),), [{"num_warps": 8}])


def matmul(shape):
    m, n, k = shape["M"], shape["N"], shape["K"]
    a, b = normal(m, k), normal(k, n)
    return Case(
        {
            "a_ptr": a, "b_ptr": b, "c_ptr": empty(m, n), "M": m, "N": n, "K": k, "stride_am": k, "stride_ak": 1,
            "stride_bk": n, "stride_bn": 1, "stride_cm": n, "stride_cn": 1, "ACTIVATION": ""}, ["c_ptr"],
        lambda: {"c_ptr": a.float() @ b.float()}, lambda c: (cdiv(m, c["BLOCK_SIZE_M"]) * cdiv(n, c["BLOCK_SIZE_N"]),),
        None)


def dropout(shape):
    """Which elements stay is Triton's generator's selection, so that home's result is what ours is compared with."""
    n, p = shape["N"], 0.5
    x = normal(n, dtype=FLOAT)
    return Case({"x_ptr": x, "output_ptr": empty(n, dtype=FLOAT), "n_elements": n, "p": p, "seed": 123}, ["output_ptr"],
                lambda: {}, lambda c: (cdiv(n, 1024),), [{"BLOCK_SIZE": 1024}])


def layer_norm(shape):
    m, n = shape["M"], shape["N"]
    x, w, b = normal(m, n), normal(n), normal(n)

    def reference():
        return dict(zip(("Y", "Mean", "Rstd"), layer_norm_of(x, w, b, 1e-5)))

    return Case(
        {
            "X": x, "Y": empty(m, n), "W": w, "B": b, "Mean": empty(m, dtype=FLOAT), "Rstd": empty(m, dtype=FLOAT),
            "stride": n, "N": n, "eps": 1e-5}, ["Y", "Mean", "Rstd"], reference, lambda c: (m,),
        [{"BLOCK_SIZE": pow2(n), "num_warps": min(max(pow2(n) // 256, 1), 8)}])
