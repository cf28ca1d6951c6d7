"""The `surefoot` command. `--version` is answered before anything else is imported."""

import os
import sys

from surefoot.cli.import_path import drop_from_path


def main() -> None:
    for folder in (*_working_directory(), *_named_folders(sys.argv[1:])):
        drop_from_path(folder)
    if sys.argv[1:] in (["--version"], ["-V"]):
        from surefoot._version import __version__

        print(f"surefoot {__version__}")
        return
    from surefoot.cli import app

    app.prepare_streams()
    if "_SUREFOOT_COMPLETE" in os.environ:
        from surefoot.cli.help.completion import answer_shell

        sys.exit(answer_shell(app.cli))
    try:
        result = app.cli.main(sys.argv[1:], prog_name="surefoot", standalone_mode=False)
        sys.stdout.flush()
        code = result if isinstance(result, int) else 0
    except (Exception, KeyboardInterrupt) as error:
        code = app.report_error(error, sys.argv[1:])
    _end(code)


def _end(code: int) -> None:
    """End the process. Skips the interpreter's shutdown if threads of Temporal's library could abort it."""
    if "temporalio" in sys.modules:
        from contextlib import suppress

        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def _working_directory() -> list[str]:
    """Return the working directory in a list, which is empty if it was removed."""
    try:
        return [os.getcwd()]  # noqa: PTH109 - pathlib is not loaded yet
    except FileNotFoundError:
        return []


def _named_folders(words: list[str]) -> list[str]:
    """Return the folders that -C or --workspace may name. The options are not parsed yet."""
    folders = [words[at] for at in range(1, len(words)) if words[at - 1] in ("-C", "--workspace")]
    folders += [word[2:] for word in words if word.startswith("-C") and len(word) > 2]
    folders += [word.partition("=")[2] for word in words if word.startswith("--workspace=")]
    return [os.path.expanduser(folder) for folder in folders]  # noqa: PTH111


if __name__ == "__main__":
    main()
