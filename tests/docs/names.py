"""What the documentation's blocks of Python may use without saying where it comes from: nothing but modules."""

import numpy as np  # noqa: F401

import tuneonce  # noqa: F401
