"""`python -m surefoot` is the same as `surefoot`."""

from surefoot.cli.main import main

if __name__ == "__main__":
    main()
