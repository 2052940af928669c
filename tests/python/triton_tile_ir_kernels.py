"""Kernels that triton_tile_ir_test.py exports as PTX and as Tile IR."""
import triton
from triton_kernels import copied, vectors

copied_bundle = vectors(axes={"BLOCK": [256, 1024]}, hint_axes={"num_warps": [2, 4]}, baseline={"BLOCK": 256, "num_warps": 4})
hinted, hinted_bundle = copied, vectors(axes={"BLOCK": [256]}, hint_axes={"occupancy": [1, 2], "num_ctas": [1, 2], "num_stages": [2, 4]})
fixed, fixed_bundle = copied, vectors(axes={"BLOCK": [256]}, constants={"occupancy": 4, "num_ctas": 2, "opt_level": 2})
by_math, by_math_bundle = copied, vectors(axes={"BLOCK": [256]}, option_axes={"ftz": [False, True]}, tolerance={"relative": 1e-5})
explicit, explicit_bundle = copied, vectors(
    axes={"backend": ["triton_tile", "triton"], "BLOCK": [256]}, hint_axes={"num_warps": [2, 4]},
    baseline={"backend": "triton_tile", "BLOCK": 256, "num_warps": 4})
without, without_bundle = copied, vectors(axes={"backend": ["triton"], "BLOCK": [256]})


def config(occupancy=None, opt_level=3, **options):
    """A triton.Config as Triton has it with the back end."""
    result = triton.Config(**options)
    result.occupancy, result.opt_level = occupancy, opt_level
    return result


tuned, tuned_bundle = triton.autotune([config(kwargs={"BLOCK": 256}, num_warps=4, num_stages=2),
                                       config(kwargs={"BLOCK": 256}, num_warps=8, num_stages=2, occupancy=2),
                                       config(kwargs={"BLOCK": 1024}, num_warps=8, num_stages=4, occupancy=2)], key=["n"])(copied), vectors()
by_levels, by_levels_bundle = triton.autotune([config(kwargs={"BLOCK": 256}), config(kwargs={"BLOCK": 256}, opt_level=2)],
                                              key=["n"])(copied), vectors()
