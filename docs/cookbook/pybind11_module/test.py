# Calls the module of module.cc: python3 test.py, in the folder of the module or with PYTHONPATH.
import twice

try:
    import torch
    y = torch.ones(1000, device="cuda")
except Exception:  # There is no torch, or no GPU.
    import numpy
    y = numpy.ones(1000, dtype=numpy.float32)
twice.double(y)
assert float(y.min()) == float(y.max()) == 2.0, y
try:
    twice.double(y[::2])
except TypeError as error:
    print("OK:", type(y).__module__, "and", error)
else:
    raise AssertionError("a strided array was accepted")
