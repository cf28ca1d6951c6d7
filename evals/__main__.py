"""`python -m evals list|run|report`."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.agents import Agent, agent
from evals.catalog import Task, load
from evals.gateway import Gateway, Record
from evals.report import picture, single, table, where_it_slips
from evals.runner import Caps, Result, read_results, run_all

RESULTS = Path(__file__).parent / "results"
EXPECTED_SECONDS = {"surefoot": 68, "oneshot": 37, "react": 125}
"""With the embedded model on 2 cores, as measured; used until there are results to go by."""


def main(words: Sequence[str] | None = None) -> int:
    parser = _parser()
    given = parser.parse_args(words)
    tasks = load(given.task)
    if not tasks:
        parser.error("no task fits; see python -m evals list")
    if given.command == "list":
        for task in tasks:
            print(
                f"{task.name:28} {task.family:10} {task.difficulty} {task.language}  {task.prompt.splitlines()[0][:80]}"
            )
        return 0
    out = given.out / "results.jsonl"
    if given.command == "run":
        try:
            agents = [agent(spec) for spec in given.agent or ("surefoot", "oneshot", "react")]
        except ValueError as error:
            parser.error(str(error))
        _run(tasks, agents, given, out)
    return _report(out, given.out)


def _run(tasks: list[Task], agents: list[Agent], given: argparse.Namespace, out: Path) -> None:
    seeds = range(given.seeds)
    _announce(tasks, agents, len(seeds), out)
    caps = Caps(seconds=given.max_seconds, calls=given.max_calls, tokens=given.max_tokens)
    with _server(given.model) as (upstream, key), Gateway(Record(given.record), upstream, key) as gateway:
        for result in run_all(tasks, agents, seeds, out, gateway, caps):
            print(_line(result), flush=True)


def _announce(tasks: list[Task], agents: list[Agent], seeds: int, out: Path) -> None:
    known = read_results(out)
    done = {result.key for result in known}
    seconds = 0.0
    left = 0
    for one in agents:
        mine = [result.seconds for result in known if result.agent == one.name]
        each = sum(mine) / len(mine) if mine else EXPECTED_SECONDS.get(one.name, 120)
        todo = sum((task.name, one.name, seed) not in done for task in tasks for seed in range(seeds))
        left, seconds = left + todo, seconds + todo * each
    print(
        f"{left} runs to do, {len(done)} are done. On 2 free cores with the embedded model about {seconds / 60:.0f} "
        "minutes, less what is answered from the record. Ctrl-C loses nothing: the same command goes on.",
        file=sys.stderr,
    )


def _line(result: Result) -> str:
    verdict = "right" if result.right else "wrong"
    flag = " FALSE SUCCESS" if result.false_success else " false failure" if result.false_failure else ""
    return (
        f"{result.task:28} {result.agent:10} {verdict} ({result.claim}){flag}  {result.calls} calls, "
        f"{result.prompt_tokens + result.output_tokens} tokens, {result.seconds:.0f} s  {result.why[:80]}"
    )


def _report(out: Path, folder: Path) -> int:
    results = read_results(out)
    if not results:
        print("there are no results yet", file=sys.stderr)
        return 1
    parts = [table(results), where_it_slips(results), single(results)]
    (folder / "table.md").write_text("\n".join(parts), encoding="utf-8")
    picture(results, folder / "results.svg")
    print("\n" + table(results))
    return 0


@contextlib.contextmanager
def _server(model: str) -> Iterator[tuple[str, str]]:
    """The address of the model server and its key; nothing when only the record may answer."""
    if model == "record":
        yield "", ""
    elif model != "local":
        yield model, ""
    else:
        from surefoot.models.local import LocalServer

        server = LocalServer()
        server.start()
        try:
            yield f"{server.address}/v1", ""
        finally:
            server.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, help_text in (
        ("list", "show the tasks"),
        ("run", "run what is not in the results yet, then report"),
        ("report", "print the table of the results, and write table.md and results.svg beside them"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("task", nargs="*", help="names (with * and ?) or families; without any, all")
        command.add_argument("--out", type=Path, default=RESULTS / "latest", help="the results' folder")
        if name == "run":
            command.add_argument("--agent", action="append", help="surefoot, oneshot, react, or NAME=COMMAND LINE")
            command.add_argument("--seeds", type=int, default=1, help="how often each task is done")
            command.add_argument(
                "--model", default="local", help="local, the address of a server, or record: only recorded answers"
            )
            command.add_argument("--record", type=Path, default=RESULTS / "answers.jsonl", help="recorded answers")
            command.add_argument("--max-seconds", type=float, default=Caps().seconds)
            command.add_argument("--max-calls", type=int, default=Caps().calls)
            command.add_argument("--max-tokens", type=int, default=Caps().tokens)
    return parser


if __name__ == "__main__":
    sys.exit(main())
