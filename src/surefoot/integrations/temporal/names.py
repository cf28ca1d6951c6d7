"""The names that Temporal stores. Workflows that wait refer to them for months: they never change.

Another behaviour of the workflow gets another name, `surefoot.run.v2`, beside the old one.
"""

WORKFLOW = "surefoot.run.v1"
DRIVE = "surefoot.drive.v1"
WAKE = "wake"


def workflow_id(run_id: str) -> str:
    return f"surefoot-run-{run_id}"
