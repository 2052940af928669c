"""Cases of the CPU device: arrays of numpy's, and a home in Python."""
import os

import numpy as np

from case import Case


def _scale(shape, home_factor):
    x = np.arange(shape["N"], dtype=np.float32)
    y = np.zeros_like(x)

    def home():
        np.multiply(x, np.float32(home_factor), out=y)

    return Case({"x": x, "y": y, "factor": 3.0, "TILE": 256}, ["y"], lambda: {"y": x * home_factor}, home=home)


def scale(shape):
    return _scale(shape, 3.0)


def other(shape):
    """Its home, and the reference, compute something else than what ours does."""
    return _scale(shape, 4.0)


def stumbles(shape):
    if shape["N"] % 2:
        raise ValueError("no odd shapes")
    return scale(shape)


def dies(shape):
    os._exit(7)


refused = absent = scale
