"""The `surefoot` command. Its version is told before anything else is loaded; the rest is in `app.py`."""

import sys


def main() -> None:
    if sys.argv[1:] in (["--version"], ["-V"]):
        from surefoot._version import __version__

        print(f"surefoot {__version__}")
        return
    from surefoot.cli.app import run_cli

    sys.exit(run_cli(sys.argv[1:]))


if __name__ == "__main__":
    main()
