"""Adds two vectors by the kernel that `tuneonce tune vector_add --store ./tuned.db` chose."""
import numpy as np

import tuneonce

kernel = tuneonce.load("vector_add", device="cpu", store="./tuned.db")
x, y = np.arange(100000, dtype=np.float32), np.ones(100000, np.float32)
z = np.empty_like(x)
kernel(x, y, z)
assert (z == x + 1).all()
print("z =", z[:4], "...")
print("ran", kernel.explain(x, y, z).config, "after", kernel.counters()["tunes"], "searches")
