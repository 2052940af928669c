"""Names of what depends on several things."""
import hashlib
from typing import Any


def fingerprint(*parts: Any) -> str:
    """A name of these parts, by which the store has what was made of them."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
