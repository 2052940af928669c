"""The declaration of a table of three shapes with more than 1,000 configs: see wide_matmul.py."""
from wide_matmul import all_of_them, declaration

bundle = declaration(all_of_them(), unaligned=[])
