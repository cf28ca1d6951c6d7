"""Fees in cents."""

SETUP = 250
EXPRESS = 700
