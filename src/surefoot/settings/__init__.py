"""Where settings come from: flags > environment > project > user > defaults. Every value knows its source.

What is unknown or out of range is refused with file and line, because a misspelt fuse that is silently ignored is
worse than none.
"""

from surefoot.settings.fields import Sourced
from surefoot.settings.layers import Settings, find_project_config, load
from surefoot.settings.sources import variable_of

__all__ = ["Settings", "Sourced", "find_project_config", "load", "variable_of"]
