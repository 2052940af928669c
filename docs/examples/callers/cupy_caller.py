"""Calls a kernel with arrays of CuPy, on the stream that is CuPy's current one."""
import cupy

import tuneonce

kernel = tuneonce.load("rms_norm")
x = cupy.random.standard_normal((64, 512)).astype(cupy.float16)
w = cupy.ones(512, cupy.float16)
y = cupy.empty_like(x)
kernel(x, w, y, 1e-5, stream=cupy.cuda.get_current_stream().ptr)
exact = x.astype(cupy.float32)
assert cupy.allclose(y, exact / cupy.sqrt((exact * exact).mean(axis=1, keepdims=True) + 1e-5), atol=1e-2)
print("cupy: ran", kernel.explain(x, w, y, 1e-5).config)
