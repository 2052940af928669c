#!/usr/bin/env python3
"""tuneonce.torch on the CPU device: torch_test.py [NAME ...]. Needs tuneonce and PyTorch; skipped (77) without PyTorch. What
needs a GPU is in tests/gpu/python_gpu_test.py."""
import json
import pathlib
import sys
import tempfile

try:
    import torch
except ImportError as error:
    print(f"SKIPPED: {error}")
    sys.exit(77)

import torch_ops  # noqa: E402
import tuneonce.torch  # noqa: E402
from running import expect, run_tests  # noqa: E402


def test_every_bundle_is_an_op_that_computes_what_torch_computes():
    torch_ops.check_eager("cpu")


def test_bfloat16_is_tuned_beside_halves():
    torch_ops.check_bfloat16("cpu")


def test_pages_hold_anything_behind_the_keys():
    torch_ops.check_pages("cpu")


def test_every_op_is_traced_by_torch_compile():
    torch_ops.check_compiled("cpu", backend="aot_eager")


def test_an_op_is_traced_with_extents_that_are_not_known():
    op = torch_ops.op_of("softmax", "cpu")
    traced = []

    def backend(graph, inputs):
        traced.append(graph)
        return graph.forward

    compiled = torch.compile(lambda x: op(x) * 2, fullgraph=True, dynamic=True, backend=backend)
    for rows in (3, 5, 17):
        x = torch.randn(rows, 100)
        torch_ops.close(compiled(x), torch.softmax(x, 1) * 2, 1e-5)
    assert len(traced) == 1, "compiled once for all extents"


def test_a_backward_is_tuned_for_keys_of_its_own():
    torch_ops.check_autograd_with_keys_of_its_own("cpu")


def test_an_op_in_place_changes_its_argument_and_is_told_to_torch_as_such():
    op, case = torch_ops.op_of("rope", "cpu"), torch_ops.CASES["rope"]
    x, cos, sin = case.arguments("cpu")
    expected = case.reference(x, cos, sin)
    compiled = torch.compile(lambda x, c, s: op.inplace(x, c, s), fullgraph=True, backend="aot_eager")
    for run in (op.inplace, compiled):
        y = x.clone()
        run(y, cos, sin)
        torch_ops.close(y, expected, case.tolerance)
    assert torch_ops.op_of("softmax", "cpu").inplace is None, "nothing of it is inout"


def test_arguments_by_name():
    op, case = torch_ops.op_of("rms_norm", "cpu"), torch_ops.CASES["rms_norm"]
    x, w, eps = case.arguments("cpu")
    torch_ops.close(op(x, w=w, eps=eps), case.reference(x, w, eps), case.tolerance)


def test_a_bfloat16_scalar_is_a_float_of_the_op():
    with tempfile.TemporaryDirectory() as path:
        vector = {"kind": "tensor", "dtype": "float32", "dims": ["N"]}
        pathlib.Path(path, "manifest.json").write_text(json.dumps({
            "tuneonce_bundle": 1, "name": "scaled", "version": "1", "dims": ["N"],
            "parameters": [{"name": "x", "access": "in", **vector}, {"name": "y", "access": "out", **vector},
                           {"name": "a", "kind": "scalar", "dtype": "bfloat16", "warmup": 1}, {"kind": "dim", "dim": "N"}],
            "variants": [{"name": "cpu", "source": "cpu_cpp", "symbol": "scaled",
                          "grid": {"pattern": "fixed", "blocks": [1]}, "artifacts": [{"file": "k.cc"}]}]}))
        pathlib.Path(path, "k.cc").write_text("""
static void scaled(const tuneonce_block&, const float* x, float* y, tuneonce_bfloat16 a, int n) {
  for (int i = 0; i < n; ++i) y[i] = x[i] * float(a);
}
TUNEONCE_CPU_KERNEL(scaled);
""")
        op = tuneonce.torch.custom_op("tuneonce_test::scaled", path, device="cpu", store="memory")
        torch_ops.close(op(torch.ones(8), 2.5), torch.full((8,), 2.5), 0)


def test_what_does_not_suit_is_said():
    op = tuneonce.torch.custom_op("tuneonce_test::without_dims", "silu_and_mul", device="cpu", store="memory")
    expect(ValueError, "no input has the dims ['N']; custom_op takes dims={'N': lambda dims: ...}",
           lambda: op(torch.zeros(4, 32, dtype=torch.float16)))
    expect(ValueError, "'K' is not a dim of the bundle 'softmax', which has M, N", lambda: tuneonce.torch.custom_op(
        "tuneonce_test::other_dims", "softmax", device="cpu", dims={"K": len}))
    expect(ValueError, "takes 'x' by a table of pointers, which an op cannot pass", lambda: tuneonce.torch.custom_op(
        "tuneonce_test::pointers", "grouped_gemm_pointers", device="cpu"))
    kernel = tuneonce.load("rms_norm", "cpu", store="memory")
    x, w, y = torch.zeros(4, 8).half(), torch.zeros(8).half(), torch.zeros(4, 8).half()
    expect(TypeError, "parameter 'eps': expected a number, no tensor, got Tensor", lambda: kernel(x, w, y, torch.tensor(1e-5)))
    expect(TypeError, "has no keyword 'stroe'", lambda: tuneonce.torch.custom_op("t::t", "softmax", device="cpu", stroe=1))


def test_parameters_and_tensors_take_turns():
    """Two types with exchange tables, in one call."""
    kernel = tuneonce.load("rms_norm", "cpu", store="memory")
    x, w, y = torch.randn(4, 8).half(), torch.nn.Parameter(torch.randn(8).half(), requires_grad=False), torch.zeros(4, 8).half()
    for _ in range(20):
        kernel(x, w, y, 1e-5)
    torch_ops.close(y, torch_ops.rms_norm(x, w, 1e-5), 5e-3)


run_tests(globals(), sys.argv[1:])
