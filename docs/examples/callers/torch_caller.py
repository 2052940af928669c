"""Calls a kernel with tensors of PyTorch, on its current stream: torch_caller.py [cuda|cpu]. docs/python.md has custom ops."""
import sys

import torch

import tuneonce

device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
kernel = tuneonce.load("rms_norm", device=device)
x = torch.randn(64, 512, device=device, dtype=torch.float16)
w = torch.ones(512, device=device, dtype=torch.float16)
y = torch.empty_like(x)
kernel(x, w, y, 1e-5)
torch.testing.assert_close(y, torch.nn.functional.rms_norm(x, (512,), w, 1e-5), atol=1e-2, rtol=1e-2)
print("torch: ran", kernel.explain(x, w, y, 1e-5).config)
