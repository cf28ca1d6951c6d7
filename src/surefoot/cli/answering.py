"""`answer`: tell a run that waits what it asked, from any terminal and at any later time."""

from typing import TYPE_CHECKING

import click

from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.state import Question
    from surefoot.store.sqlite import SqliteJournal


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.option("-q", "--question", "question_id", metavar="ID", help="Which question, where there are several.")
@click.option("-a", "--answer", "text", metavar="TEXT", help="The answer; without it you are asked on the terminal.")
@click.option("-y", "--yes", is_flag=True, help="Answer every confirmation with yes.")
def answer(run_id: str, question_id: str | None, text: str | None, yes: bool) -> int:
    """Answer what a run asks. RUN is the beginning of its id; without one it is the newest."""
    from surefoot.cli.places import open_journal

    journal = open_journal()
    try:
        run_id = journal.find(run_id)
        questions, late = open_questions(journal, run_id)
        if late and (not questions or question_id in late):
            raise UsageError(
                "the answer comes too late: nobody gave one in time, and that counts as no",
                remedy=f"go on with it: surefoot resume {run_id}",
            )
        if not questions:
            raise UsageError(f"run {run_id} asks nothing", remedy=f"go on with it: surefoot resume {run_id}")
        chosen = [_named(questions, question_id)] if question_id else questions
        if text is not None and len(chosen) > 1:
            ids = ", ".join(question.id for question in chosen)
            raise UsageError(f"run {run_id} asks several things: {ids}", remedy="say which one with --question")
        left = [question for question in chosen if not _settle(journal, run_id, question, text, yes)]
    finally:
        journal.close()
    if left:
        click.echo(f"{len(left)} left open; nothing is lost", err=True)
        return 4
    click.echo(f"answered; go on with: surefoot resume {run_id}")
    return 0


def open_questions(journal: "SqliteJournal", run_id: str) -> "tuple[list[Question], list[str]]":
    """What is asked and not answered, also not by a message that the run has not read yet; and the ids of what has
    timed out."""
    import time

    from surefoot.fold import fold
    from surefoot.questions import times_out_at

    state = fold(journal.read(run_id))
    sent = {item.body.get("question_id") for item in journal.receive(run_id) if item.body.get("type") == "answer"}
    found = [question for question in state.open_questions if question.id not in sent]
    limit, now = state.config.question_timeout_seconds, time.time()
    late = [q.id for q in found if (until := times_out_at(q, limit)) is not None and until <= now]
    return [question for question in found if question.id not in late], late


def _named(questions: "list[Question]", question_id: str) -> "Question":
    for question in questions:
        if question.id == question_id:
            return question
    ids = ", ".join(question.id for question in questions)
    raise UsageError(f"there is no open question {question_id!r}", remedy=f"open are: {ids}")


def _settle(journal: "SqliteJournal", run_id: str, question: "Question", text: str | None, yes: bool) -> bool:
    import asyncio
    import sys
    import time

    from surefoot.cli.control import who
    from surefoot.cli.person import TerminalPerson, asked, understood

    if text is None:
        given = asyncio.run(TerminalPerson(sys.stdin, yes=yes).answer(question))
        if given is None and not sys.stdin.isatty():
            # Nobody can be asked here, but the question can at least be read.
            click.echo(f"{asked(question)}\n  surefoot answer {run_id} --question {question.id} --answer ...")
    else:
        given = understood(question, text)
    if not given:
        return False
    said = {"type": "answer", "question_id": question.id, "answer": given, "by": who(), "at": time.time()}
    journal.send(run_id, said)
    return True
