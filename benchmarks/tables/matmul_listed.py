"""The declaration of a table of many shapes, aligned or not, with some 70 configs: see wide_matmul.py."""
from wide_matmul import declaration, listed

bundle = declaration(listed(), unaligned=[["N"], ["K"], ["N", "K"]])
