"""Alerts: a JSON document to a command or an address of the user's when a run has failed, waits, or is done."""
