from .texts import pad

__all__ = ["pad"]
