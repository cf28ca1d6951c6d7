"""Surefoot inside other people's systems. Each needs an extra."""
