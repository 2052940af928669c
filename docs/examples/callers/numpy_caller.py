"""Calls a kernel with arrays of NumPy, on the CPU device. Whatever has the buffer protocol is called in the same way."""
import numpy as np

import tuneonce

kernel = tuneonce.load("rms_norm", device="cpu")
x = np.random.default_rng(0).standard_normal((64, 512)).astype(np.float16)
w = np.ones(512, np.float16)
y = np.empty_like(x)
kernel(x, w, y, 1e-5)
exact = x.astype(np.float32)
assert np.allclose(y, exact / np.sqrt((exact * exact).mean(axis=1, keepdims=True) + 1e-5), atol=1e-2)
print("numpy: ran", kernel.explain(x, w, y, 1e-5).config)
