"""`answer`: answers the questions of a waiting run, from any terminal and at any later time."""

from typing import TYPE_CHECKING

import click

from surefoot.cli.options import all_option, queue_option, temporal_option
from surefoot.errors import UsageError

if TYPE_CHECKING:
    from surefoot.core.questions import Question
    from surefoot.journal.store.base import Journal


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@click.argument("given", metavar="[ANSWER]", required=False)
@click.option("-q", "--question", "question_id", metavar="ID", help="The question to answer, if there are several.")
@click.option("-a", "--answer", "text", metavar="TEXT", help="The answer; without it you are asked on the terminal.")
@all_option
@click.option("-y", "--yes", is_flag=True, help="Answer every confirmation and approval with yes.")
@temporal_option
@queue_option
def answer(
    run_id: str, given: str | None, question_id: str | None, text: str | None, all_folders: bool, yes: bool
) -> int:
    """Answer the questions of a run.

    RUN is the beginning of its id; the default is the newest run of the current folder. ANSWER is the same as
    --answer; without it you are asked on the terminal.
    """
    from surefoot.cli.session.resources import open_journal
    from surefoot.cli.session.runs import find_run, say_where
    from surefoot.history.requests import find_question, open_questions

    if given is not None and text is not None:
        raise UsageError("the answer was given twice", remedy="leave out --answer, or the text after the run")
    text = given if text is None else text
    journal = open_journal()
    try:
        found_run = find_run(journal, run_id, all_folders=all_folders)
        run_id = found_run.run_id
        if not found_run.is_current:
            say_where(found_run, "questions of")
        questions, expired = open_questions(journal, run_id)
        if expired and (not questions or question_id in expired):
            raise UsageError(
                "the question has timed out, which counts as no", remedy=f"continue with: surefoot resume {run_id}"
            )
        if not questions:
            raise UsageError(f"run {run_id} has no open questions", remedy=f"continue with: surefoot resume {run_id}")
        chosen = [find_question(questions, question_id)] if question_id else questions
        if text is not None and len(chosen) > 1:
            ids = ", ".join(question.id for question in chosen)
            raise UsageError(f"run {run_id} has several open questions: {ids}", remedy="choose one with --question")
        unanswered = [question for question in chosen if not _answer(journal, run_id, question, text, yes)]
    finally:
        journal.close()
    if unanswered:
        click.echo(f"not answered yet: {len(unanswered)}; you can answer later", err=True)
        return 4
    from surefoot.cli.remote.starting import tell_workers

    if not tell_workers(run_id):
        click.echo(f"answered; continue with: surefoot resume {run_id}")
    return 0


def _draft(journal: "Journal", question: "Question") -> str:
    """The text that may be edited; empty if there is none, or if secrets were removed from it."""
    from surefoot.journal.redact import PLACEHOLDER

    draft = journal.get_blob(question.draft_key).decode() if question.draft_key else ""
    return "" if PLACEHOLDER.search(draft) else draft


def _answer(journal: "Journal", run_id: str, question: "Question", text: str | None, yes: bool) -> bool:
    """Send the answer to the run. Returns False if there is none yet."""
    import asyncio
    import sys

    from surefoot.cli.report.hiding import redactor
    from surefoot.cli.session.person import TerminalPerson, format_question
    from surefoot.core.questions import choice_of, explanation, understood
    from surefoot.history.requests import require_answer, send_answer

    answer: str | None
    question.draft = _draft(journal, question)
    if text is None:
        answer = asyncio.run(TerminalPerson(sys.stdin, yes=yes).answer(question))
        if answer is None and not sys.stdin.isatty():
            # Without a terminal the question can at least be read.
            click.echo(f"{format_question(question)}\n  surefoot answer {run_id} --question {question.id} --answer ...")
    elif (answer := understood(question, text)) is None:
        if question.kind == "approval" and choice_of(text) == "explain":
            click.echo(f"{format_question(question)}\n{explanation(question)}")
            return False
        require_answer(question, text)
    if not answer:
        return False
    send_answer(journal, run_id, question, answer, redactor())
    return True
