"""Surefoot in editors that speak the Agent Client Protocol (extra `acp`)."""
