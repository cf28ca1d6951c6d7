"""The examples at the end of each command's help. A test parses every one of them with the real parser."""

import click

Example = tuple[str, str]
"""A description, and the command line."""

EXAMPLES: dict[str, tuple[Example, ...]] = {
    # -- start
    "run": (
        ("prove the result with the tests", 'surefoot run "add a --json flag to report.py" --check "pytest -q"'),
        ("work in a copy; apply the changes later", 'surefoot run "port it to Python 3.13" --worktree'),
        ("ask before every write and every command", 'surefoot run "clean up the logs" --approve ask'),
        ("with limits, and the task from a file", "surefoot run --max-time 10m --max-tokens 200k - < task.txt"),
        ("carry out a plan that `surefoot plan` has made", "surefoot run --plan last"),
        ("continue from the last run", 'surefoot run --continue last "now also document it"'),
        (
            "on a branch of its own, with a commit",
            'surefoot run "fix it" --check "pytest -q" --branch --commit',
        ),
    ),
    "plan": (
        ("see the steps before anything is changed", 'surefoot plan "add a --json flag to report.py"'),
        ("with the check of the run that carries it out", 'surefoot plan "speed up the import" --check "make bench"'),
        ("change it, and carry it out", "surefoot edit last"),
        ("", "surefoot run --plan last"),
    ),
    "resume": (
        ("continue the newest run of this folder", "surefoot resume"),
        ("a certain run, with more time and another model", "surefoot resume 1115-2044 --max-time 1h -m local"),
    ),
    "demo": (
        ("see a whole run without a model", "surefoot demo"),
        ("faster, and in a browser", "surefoot demo --speed 10 --open"),
    ),
    # -- look
    "list": (
        ("the runs of this folder", "surefoot list"),
        ("the last 50 of all folders", "surefoot list --all -n 50"),
        ("for a program", "surefoot list --json | jq -r .run_id"),
    ),
    "show": (
        ("the newest run", "surefoot show"),
        ("what it changed, as a patch", "surefoot show 1115-2044 --diff"),
        ("what each check result is based on", "surefoot show last --proofs"),
        ("the prompts and answers of the model", "surefoot show last --answers"),
    ),
    "diff": (
        ("what the newest run changed", "surefoot diff"),
        ("what its second step changed, in numbers", "surefoot diff last 2 --stat"),
    ),
    "watch": (
        ("follow the run of another terminal", "surefoot watch"),
        ("as JSON, for a program", "surefoot watch 1115-2044 --json"),
    ),
    "serve": (
        ("the page, in a browser", "surefoot serve"),
        ("without a browser, and with a read-only link", "surefoot serve --no-open --view-token"),
    ),
    "report": (
        ("an HTML file that needs no network", "surefoot report last -o report.html"),
        ("text for a pull request", "surefoot report last --format md -o -"),
    ),
    "stats": (
        ("the runs of this folder in figures", "surefoot stats"),
        ("the last week, in all folders", "surefoot stats --since 7d --all"),
    ),
    "replay": (
        ("play a run at four times its speed", "surefoot replay 1115-2044 --speed 4"),
        ("would it be decided in the same way today?", "surefoot replay last --verify"),
    ),
    # -- steer
    "answer": (
        ("see the questions, and answer them", "surefoot answer"),
        ("allow what a run asks for", "surefoot answer 1115-2044 --answer yes"),
        ("refuse it, and say why", 'surefoot answer last --answer "no, keep the old name"'),
    ),
    "pause": (("stop the newest run where it is", "surefoot pause"),),
    "skip": (("continue without a step", 'surefoot skip last s2 --why "the service is down"'),),
    "retry": (
        ("repeat the second step", "surefoot retry last 2"),
        ("with another tool", 'surefoot retry last s2 --tool run_command --set "command=make report"'),
    ),
    "edit": (
        ("change the steps that have not started, in your editor", "surefoot edit"),
        ("print them, and give them back", "surefoot edit --print > steps.toml"),
        ("", 'surefoot edit --file steps.toml --why "no report is needed"'),
    ),
    "cancel": (("end a run; its changes stay", 'surefoot cancel 1115-2044 --why "wrong task"'),),
    # -- take over, take back
    "review": (
        ("keep, edit or undo what a run changed, piece by piece", "surefoot review"),
        ("undo one file without a dialogue", "surefoot review last --undo notes.txt"),
    ),
    "commit": (
        ("commit what the newest run changed", "surefoot commit"),
        ("one commit for each step", "surefoot commit 1115-2044 --steps"),
    ),
    "push": (
        ("see what would be pushed, and say yes or no", "surefoot push 1115-2044"),
        ("in a script, to a branch of this name", "surefoot push 1115-2044 --branch fix/login --yes"),
    ),
    "pr": (
        ("the text of a pull request", "surefoot pr"),
        ("only its title", "surefoot pr last --title"),
    ),
    "undo": (
        ("restore the files as they were before the run", "surefoot undo last"),
        ("keep its first step", "surefoot undo 1115-2044 --step 2"),
        ("undo the undo, by the id that it printed", "surefoot undo 1115-2044 --to 3f2a91c0de12"),
    ),
    "apply": (("apply the changes of a run with --worktree", "surefoot apply last"),),
    "fork": (
        ("try its second step again, with another model", "surefoot fork last --at 2 -C ../again -m local --run"),
        ("answer a question differently", 'surefoot fork last --question 3f2a --answer "use SQLite" -C ../sqlite'),
    ),
    "recover": (("get the newest run back from Redis", "surefoot recover"),),
    "gc": (
        ("see what would be removed", "surefoot gc --dry-run"),
        ("keep the newest ten of this folder", "surefoot gc --older-than 30d --keep 10"),
    ),
    # -- set up
    "doctor": (
        ("can a run start here?", "surefoot doctor"),
        ("with a certain model", "surefoot doctor -m ollama/qwen2.5-coder"),
    ),
    "init": (
        ("look at the project, try its commands, write surefoot.toml", "surefoot init"),
        ("without questions", "surefoot init --yes"),
    ),
    "config set": (
        ("a default model", "surefoot config set model.model openai/gpt-5.2"),
        ("for this project only", "surefoot config set execution.approve ask --project"),
    ),
    "config unset": (("back to the default", "surefoot config unset execution.approve"),),
    "config get": (("one value, for a script", "surefoot config get execution.sandbox"),),
    "config edit": (("open your settings in an editor", "surefoot config edit"),),
    "model test": (("three small tasks with a model", "surefoot model test -m ollama/qwen2.5-coder"),),
    "config": (
        ("every setting with its source", "surefoot config"),
        ("what differs from the defaults", "surefoot config --changed"),
        ("one value, for a script", "surefoot config --json | jq '.\"execution.sandbox\".value'"),
    ),
    "trust": (("use the settings of the project here", "surefoot trust"),),
    "untrust": (("ignore them again", "surefoot untrust ~/projects/report"),),
    "model": (
        ("get the embedded model, once", "surefoot model pull"),
        ("what is there?", "surefoot model list"),
    ),
    "model list": (("what is there?", "surefoot model list"),),
    "model pull": (
        ("download the embedded model", "surefoot model pull"),
        ("take it from a file", "surefoot model pull --source ~/Downloads/model.gguf"),
    ),
    "model serve": (("one model for several runs", "surefoot model serve --port 8080"),),
    "completion": (
        ("for this bash", "surefoot completion bash > ~/.local/share/bash-completion/completions/surefoot"),
        ("see how to install it", "surefoot completion zsh | head"),
    ),
    "help": (
        ("what does exit code 3 mean?", "surefoot help exit-codes"),
        ("the help of a command", "surefoot help run"),
    ),
    # -- integrate
    "acp": (("in the settings of the editor, as the agent's command", 'surefoot acp --check "pytest -q"'),),
    "mcp": (
        ("in the settings of an MCP client, as the server's command", "surefoot mcp -C ~/projects/report"),
        ("the tools of the servers that runs use", "surefoot mcp tools"),
    ),
    "mcp tools": (("start the servers, and list their tools", "surefoot mcp tools --json"),),
    "mcp trust": (("allow a server of the project's config file", "surefoot mcp trust tickets"),),
    "mcp accept": (
        ("accept all tools of a server as they are now", "surefoot mcp accept tickets"),
        ("accept one of them", "surefoot mcp accept tickets close_ticket"),
    ),
    "worker": (("drive remote runs, two at a time", "surefoot worker --runs 2"),),
    "schema": (("what do the lines of --json look like?", "surefoot schema events"),),
    "schema report": (("for `surefoot report --format json`", "surefoot schema report"),),
    "schema events": (("for the lines of --json", "surefoot schema events > events.schema.json"),),
    "schema error": (("for the error that ends a command with --json", "surefoot schema error"),),
    "schema alert": (("for what an alert sends", "surefoot schema alert"),),
    "schema stats": (("for `surefoot stats --json`", "surefoot schema stats"),),
}


def add_examples(group: click.Group, prefix: str = "") -> None:
    """Put the examples at the end of each command's help."""
    for name, command in group.commands.items():
        path = f"{prefix}{name}"
        if path in EXAMPLES:
            command.epilog = _block(EXAMPLES[path])
        if isinstance(command, click.Group):
            add_examples(command, f"{path} ")


def _block(examples: tuple[Example, ...]) -> str:
    rows = ["\b", "Examples:"]
    for description, line in examples:
        rows += [f"  # {description}", f"  {line}"] if description else [f"  {line}"]
    return "\n".join(rows)
