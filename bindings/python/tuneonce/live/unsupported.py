"""The reason why a call runs through Triton's own launcher."""


class Unsupported(Exception):
    """A kernel or call uses a feature that only Triton's own launcher has; the text names it."""
