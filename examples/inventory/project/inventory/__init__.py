"""The stock of a small shop."""
