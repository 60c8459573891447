"""`python -m dioptre`: the command line, also for torchrun."""

from dioptre.cli import entry

if __name__ == "__main__":
    entry()
