"""The dependencies that a run is given from outside."""

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from surefoot.config.model import AlertSettings
from surefoot.engine.runtime.human import Person
from surefoot.engine.runtime.watchdog import EndProcess
from surefoot.journal.bus import Bus
from surefoot.journal.redact import Redactor
from surefoot.journal.store.base import Journal
from surefoot.models.base import LanguageModel, secrets_of
from surefoot.tools.registry import Toolbox
from surefoot.workspace.mirror import Mirror


@dataclass
class Services:
    journal: Journal
    model: LanguageModel
    home: Path
    """Where snapshots, blobs and locks live: never inside a workspace."""
    toolbox: Toolbox | None = None
    person: Person | None = None
    bus: Bus = field(default_factory=Bus)
    redactor: Redactor = field(init=False)
    """Removes secrets from prompts, from recorded free text, and from displayed output."""
    clock: Callable[[], float] = time.time
    """The clock by which questions time out."""
    alerts: AlertSettings = field(default_factory=AlertSettings)
    """Where alerts about the end of a run are sent. Nowhere by default."""
    end_process: EndProcess | None = None
    """Ends the process when a run goes on long after its time limit, because something blocks it. None: never."""
    secrets: Mapping[str, str] = field(default_factory=dict)
    """Secrets that tools use, by variable name, in addition to those of the environment and the model."""

    mirror: Mirror | None = None
    """Stores the snapshots of a remote run where other machines can read them. None: they stay on this machine."""

    def __post_init__(self) -> None:
        self.redactor = Redactor.from_environment(os.environ, {**secrets_of(self.model), **self.secrets})
