"""Which code of the documentation is run by which test, in which story, and what cannot be run, with the reason."""

from typing import NamedTuple

from surefoot.report.html import TEMPLATE


class Scene(NamedTuple):
    """The story before a block. `each`: it is put back before every line, because these are alternatives."""

    story: str
    each: bool = False
    folder: str = "projects/report"


ANYWHERE = ""

SCENES: dict[str, dict[str, Scene]] = {
    "README.md": {"Surefoot": Scene("new"), "Every day": Scene("new")},
    "concepts/journal.md": {ANYWHERE: Scene("done")},
    "concepts/workspace.md": {ANYWHERE: Scene("new")},
    "configuration.md": {ANYWHERE: Scene("configured")},
    "guides/approvals.md": {ANYWHERE: Scene("new")},
    "guides/local-models.md": {ANYWHERE: Scene("new")},
    "guides/page.md": {ANYWHERE: Scene("done")},
    "guides/project-setup.md": {ANYWHERE: Scene("new", folder="projects")},
    "guides/recovery.md": {"Configure it": Scene("at work", each=True), "Continue": Scene("failed", each=True)},
    "guides/replay.md": {ANYWHERE: Scene("done")},
    "guides/report.md": {ANYWHERE: Scene("done")},
    "guides/statistics.md": {ANYWHERE: Scene("done")},
    "guides/strong-models.md": {ANYWHERE: Scene("new")},
    "guides/teams.md": {ANYWHERE: Scene("new")},
    "guides/undo.md": {
        ANYWHERE: Scene("done"),
        "Undo": Scene("done", each=True),
        "Fork": Scene("done"),
        "Work in a copy": Scene("new"),
    },
    "troubleshooting.md": {ANYWHERE: Scene("done")},
    "cli.md": {
        ANYWHERE: Scene("done", each=True),
        "The command line": Scene("new"),
        "surefoot run": Scene("done", each=True),
        "surefoot plan": Scene("new"),
        "surefoot edit": Scene("planned", each=True),
        "surefoot skip": Scene("at work"),
        "surefoot pause": Scene("at work"),
        "surefoot cancel": Scene("at work"),
        "surefoot answer": Scene("asking", each=True),
        "surefoot retry": Scene("failed", each=True),
        "surefoot resume": Scene("failed", each=True),
    },
}
"""Pages whose shell blocks are run by test_shell.py; by title, what comes before a block. ANYWHERE is
for all others: the first block begins with it, the next ones go on."""

CANNOT_RUN: dict[str, str] = {
    r"(pipx|pip|uv) ": "installs the program; tests/repository/test_wheel.py does",
    r"make web": "builds the page with Node; `make web-test` does",
    r".* -m (ollama/|llamacpp|http://)": "needs the server of a model",
    r".* -m local\b": "needs the weights of the embedded model",
    r"surefoot model (pull|serve|test)": "needs the weights, or the server of a model",
    r"surefoot worker": "needs Temporal; tests/integrations/temporal/test_guide.py starts one",
    r"surefoot recover": "needs Redis; tests/integrations/test_guides.py does it",
    r"ssh ": "needs another machine",
    r"surefoot serve .*--tls-cert": "needs a certificate; tests/server has tests with one",
}
"""Regular expressions for the beginnings of lines that are only parsed, with the reason."""

TYPED: dict[str, dict[str, str]] = {
    r"surefoot( +#.*)?$": {"Type a task": "\x04"},
    r"surefoot undo(?!.*--yes)": {"Continue?": "y\r"},
    r"surefoot apply": {"Continue?": "y\r"},
    r"surefoot (config )?edit(?!.*--(print|file))": {},
    r"surefoot answer last": {"y = yes": "y\r"},
}
"""What to type on a terminal, by the text that asks for it."""

CODES: dict[str, int] = {
    r"surefoot run .*--approve ask": 4,
    r'surefoot run --continue last "now also document it': 3,
    r"surefoot report( *#.*|.*\.html.*)?$": 0 if TEMPLATE.exists() else 1,
}
"""Exit codes other than 0, by the beginning of the line."""
