"""The one error of the exporters."""


class DeclarationError(ValueError):
    """What is wrong with a declaration or a kernel, in one line."""
