from .helpers import pad

__all__ = ["pad"]
