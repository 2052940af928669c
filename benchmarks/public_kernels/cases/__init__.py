"""A module per package, with a function per kernel of the list: from a shape to its Case."""
