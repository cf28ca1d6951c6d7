"""`python -m evals list|run|report`."""

import argparse
import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.agents import Agent, parse_agent
from evals.catalog import Task, load
from evals.gateway import Gateway, Recording
from evals.report import chart, mistake_table, summary_table, task_table
from evals.runner import Caps, Result, read_results, run_all

RESULTS = Path(__file__).parent / "results"
EXPECTED_SECONDS = {"surefoot": 68, "oneshot": 37, "react": 125}
"""Measured with the embedded model on 2 cores; used for estimates until there are results."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = _parser()
    args = parser.parse_args(argv)
    tasks = load(args.task)
    if not tasks:
        parser.error("no task matches; see python -m evals list")
    if args.command == "list":
        for task in tasks:
            print(
                f"{task.name:28} {task.family:10} {task.difficulty} {task.language}  {task.prompt.splitlines()[0][:80]}"
            )
        return 0
    out = args.out / "results.jsonl"
    if args.command == "run":
        try:
            agents = [parse_agent(spec) for spec in args.agent or ("surefoot", "oneshot", "react")]
        except ValueError as error:
            parser.error(str(error))
        _run(tasks, agents, args, out)
    return _report(out, args.out)


def _run(tasks: list[Task], agents: list[Agent], args: argparse.Namespace, out: Path) -> None:
    seeds = range(args.seeds)
    _print_estimate(tasks, agents, len(seeds), out)
    caps = Caps(seconds=args.max_seconds, calls=args.max_calls, tokens=args.max_tokens)
    with _server(args.model) as (upstream, key), Gateway(Recording(args.record), upstream, key) as gateway:
        for result in run_all(tasks, agents, seeds, out, gateway, caps):
            print(_line(result), flush=True)


def _print_estimate(tasks: list[Task], agents: list[Agent], seeds: int, out: Path) -> None:
    results = read_results(out)
    done = {result.key for result in results}
    total_seconds = 0.0
    total_runs = 0
    for agent in agents:
        durations = [result.seconds for result in results if result.agent == agent.name]
        seconds = sum(durations) / len(durations) if durations else EXPECTED_SECONDS.get(agent.name, 120)
        runs = sum((task.name, agent.name, seed) not in done for task in tasks for seed in range(seeds))
        total_runs, total_seconds = total_runs + runs, total_seconds + runs * seconds
    print(
        f"{total_runs} runs to do, {len(done)} are done. With the embedded model on 2 free cores this takes about "
        f"{total_seconds / 60:.0f} minutes, less with recorded answers. After Ctrl-C the same command continues.",
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
    parts = [summary_table(results), mistake_table(results), task_table(results)]
    (folder / "table.md").write_text("\n".join(parts), encoding="utf-8")
    chart(results, folder / "results.svg")
    print("\n" + summary_table(results))
    return 0


@contextlib.contextmanager
def _server(model: str) -> Iterator[tuple[str, str]]:
    """Yield the model server's address and key; both are empty if only recorded answers may be used."""
    if model == "record":
        yield "", ""
    elif model != "local":
        yield model, ""
    else:
        from surefoot.models.local.process import LocalServer

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
        ("run", "run what is missing in the results, then report"),
        ("report", "print the table of the results, and write table.md and results.svg next to them"),
    ):
        command = commands.add_parser(name, help=help_text)
        command.add_argument("task", nargs="*", help="names (with * and ?) or families; default: all")
        command.add_argument("--out", type=Path, default=RESULTS / "latest", help="folder of the results")
        if name == "run":
            command.add_argument("--agent", action="append", help="surefoot, oneshot, react, or NAME=COMMAND LINE")
            command.add_argument("--seeds", type=int, default=1, help="how often each task is run")
            command.add_argument(
                "--model", default="local", help="local, the address of a server, or record for recorded answers only"
            )
            command.add_argument("--record", type=Path, default=RESULTS / "answers.jsonl", help="recorded answers")
            command.add_argument("--max-seconds", type=float, default=Caps().seconds)
            command.add_argument("--max-calls", type=int, default=Caps().calls)
            command.add_argument("--max-tokens", type=int, default=Caps().tokens)
    return parser


if __name__ == "__main__":
    sys.exit(main())
