"""The purposes of model calls."""

from enum import StrEnum


class Purpose(StrEnum):
    UNDERSTAND = "understand"
    APPROACH = "approach"
    PLAN = "plan"
    ACT = "act"
    """Choose the next action of a step."""
    ACT_AND_WRITE = "act and write"
    """Choose the next action, with the body of the file it writes in the same answer."""
    WRITE = "write"
    """Write the body of one file."""
    EDIT = "edit"
    """Edit one long file."""
    DO = "do"
    """Answer a whole step freely, with any number of files and commands."""
    REFLECT = "reflect"
    REPAIR = "repair"


STEP_PURPOSES = frozenset({Purpose.ACT, Purpose.ACT_AND_WRITE, Purpose.WRITE, Purpose.EDIT, Purpose.DO})
"""The purposes that belong to the work on a step. The others belong to phases and to recovery."""
