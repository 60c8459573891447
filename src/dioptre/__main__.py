"""`python -m dioptre`, and the command `dioptre`: the command line, also for torchrun."""

import sys


def entry() -> None:
    """Runs the command line; Ctrl-C while it is being imported ends it as it does at any other moment."""
    try:
        from dioptre.cli import entry as run  # noqa: PLC0415  # takes half a second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("dioptre: stopped\n")
        sys.exit(130)


if __name__ == "__main__":
    entry()
