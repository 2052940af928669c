# Makes a torch op of a kernel in CUDA C++, for eager code, torch.compile and torch.cuda.graph. It needs a GPU:
#   python3 torch_custom_op.py
import json
import pathlib
import sys

import tuneonce

CUDA_SOURCE = """
template <int BLOCK>  // Each block adds up a row.
__global__ void row_sums(const float* x, float* y, int n) {
  __shared__ float sums[BLOCK];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += BLOCK) sum += x[(long long)blockIdx.x * n + i];
  sums[threadIdx.x] = sum;
  for (int half = BLOCK / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}"""
MANIFEST = {  # Your package usually has the bundle as a folder.
    "tuneonce_bundle": 1, "name": "row_sums", "version": "1",
    "dims": ["M", "N"],
    "key": [{"dim": "M", "bucket": "next_pow2"}, {"dim": "N"}],
    "parameters": [{"name": "x", "kind": "tensor", "access": "in", "dtype": "float32", "dims": ["M", "N"]},
                   {"name": "y", "kind": "tensor", "access": "out", "dtype": "float32", "dims": ["M"]},
                   {"kind": "dim", "dim": "N", "dtype": "int32"}],
    "axes": [{"name": "BLOCK", "values": [128, 256, 512, 1024]}],
    "baseline": {"BLOCK": 128},
    "variants": [{"name": "cuda", "source": "cuda_cpp", "symbol": "row_sums<BLOCK>", "defines": ["BLOCK"],
                  "grid": {"pattern": "one_d", "tiles": [["M", 1]]}, "block": [{"axis": "BLOCK"}],
                  "artifacts": [{"file": "row_sums.cu"}]}],
}
folder = pathlib.Path("./row_sums")
folder.mkdir(exist_ok=True)
(folder / "manifest.json").write_text(json.dumps(MANIFEST))
(folder / "row_sums.cu").write_text(CUDA_SOURCE)
tuneonce.Bundle(folder).check()

try:
    import torch
except ImportError:
    sys.exit(print("SKIPPED: there is no torch (pip install torch)") or 77)
if not torch.cuda.is_available():
    sys.exit(print("SKIPPED: torch finds no GPU") or 77)
import tuneonce.torch

row_sums = tuneonce.torch.custom_op("cookbook::row_sums", folder)
x = torch.rand(1000, 4096, device="cuda")
torch.testing.assert_close(row_sums(x), x.sum(1), rtol=1e-4, atol=0)  # The first call of a shape tunes.
compiled = torch.compile(lambda x: row_sums(x) + 1, fullgraph=True)
torch.testing.assert_close(compiled(x), x.sum(1) + 1, rtol=1e-4, atol=0)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):  # The key is ready; a capture does not tune.
    y = row_sums(x)
graph.replay()
torch.testing.assert_close(y, x.sum(1), rtol=1e-4, atol=0)
print("OK:", row_sums.kernel.explain(x, y).config)
