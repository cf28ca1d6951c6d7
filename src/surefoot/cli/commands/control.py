"""`skip`, `pause` and `cancel`: control a run in progress, from any terminal."""

import click

from surefoot.cli.options import all_option, reason_option


@click.command()
@click.argument("run_id", metavar="RUN")
@click.argument("step_id", metavar="STEP")
@reason_option
@all_option
def skip(run_id: str, step_id: str, why: str, all_folders: bool) -> int:
    """Skip STEP of a run in progress: its changes so far are undone, and the run continues without it.

    RUN is the beginning of its id, or `last` for the newest run of the current folder.
    """
    from surefoot.cli.session.control import request_control

    return request_control(run_id, "skip", step_id=step_id, reason=why, all_folders=all_folders)


@click.command()
@click.argument("run_id", metavar="[RUN]", default="last")
@reason_option
@all_option
def pause(run_id: str, why: str, all_folders: bool) -> int:
    """Stop a run where it is, to be continued later with `surefoot resume`.

    RUN is the beginning of its id; the default is the newest run of the current folder.
    """
    from surefoot.cli.session.control import request_control

    return request_control(run_id, "pause", reason=why, all_folders=all_folders)


@click.command()
@click.argument("run_id", metavar="RUN")
@reason_option
@all_option
def cancel(run_id: str, why: str, all_folders: bool) -> int:
    """End a run. Its changes stay, as its summary lists them.

    RUN is the beginning of its id, or `last` for the newest run of the current folder.
    """
    from surefoot.cli.session.control import request_control

    return request_control(run_id, "cancel", reason=why, all_folders=all_folders)
