"""The names that Temporal stores. They never change, because waiting workflows refer to them for months.

A workflow with other behaviour gets another name, such as `surefoot.run.v2`, beside the old one.
"""

WORKFLOW = "surefoot.run.v1"
DRIVE = "surefoot.drive.v1"
WAKE = "wake"


def workflow_id(run_id: str) -> str:
    return f"surefoot-run-{run_id}"
