"""Exporters: from kernels written in Python to bundles that C++ tunes and launches without Python.

    python -m tuneonce.export cutile FILE.py:kernel [...] -o DIR
    python -m tuneonce.export triton FILE.py:kernel [...] -o DIR

Needed at build time only, without a GPU. A kernel `k` is exported as its declaration `k_bundle` in the same file says: a
`Declaration`. Both exporters may write into one bundle, whose variants then stand in for each other, or race.
"""
from tuneonce.export.constants import ConstantOf
from tuneonce.export.declaration import Declaration
from tuneonce.export.declaration_error import DeclarationError
from tuneonce.export.parameters import derived, descriptor, dim, scalar, stride, strides, tensor, tensors, workspace
from tuneonce.export.terms import add, blocks, ceil_div, floor_div, greatest, least, num_sms, product

__all__ = ["ConstantOf", "Declaration", "DeclarationError", "add", "blocks", "ceil_div", "derived", "descriptor", "dim",
           "floor_div", "greatest", "least", "num_sms", "product", "scalar", "stride", "strides", "tensor", "tensors", "workspace"]
