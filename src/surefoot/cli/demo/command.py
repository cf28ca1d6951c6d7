"""`demo`: a run with the recorded answers of a model, and its page."""

import click


@click.command()
@click.option(
    "--speed", type=click.FloatRange(0.1, 1000), default=3.0, show_default=True, help="Times the recorded speed."
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in a browser.")
@click.option("--exit", "exit_after", is_flag=True, help="End when the run has ended, not with Ctrl-C.")
def demo(speed: float, open_page: bool, exit_after: bool) -> int:
    """Show a run without a model: the answers are recorded, everything else is real.

    A model plans four steps. The data is not what it expected: a check fails, it looks, and corrects its work. Every
    step is checked, and the tests prove the result. The page needs the extra `server`; without it the run is shown in
    the terminal. All files are in a temporary folder, which is removed at the end. Your own runs and settings are
    neither used nor changed.
    """
    import asyncio

    from surefoot.cli.demo.playing import play

    return asyncio.run(play(speed, open_page=open_page, exit_after=exit_after))
