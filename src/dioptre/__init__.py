"""dioptre: learned autofocus."""

__version__ = "0.1.0"
