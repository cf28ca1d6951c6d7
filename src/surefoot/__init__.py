"""Surefoot: an agent that proves every step, and gets back up when it slips."""

from surefoot._version import __version__

__all__ = ["__version__"]
