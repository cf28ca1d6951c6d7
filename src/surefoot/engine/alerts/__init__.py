"""Alerts: a JSON document is sent to a command or an address of the user when a run has failed, waits, or is done."""
