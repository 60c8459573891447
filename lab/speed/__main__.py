"""`python -m lab.speed [TABLE ...]`: prints speed tables, all that the installed libraries allow by default.

All of them take some minutes, and the larger ones some gigabytes of memory and disk.
"""

import argparse

from dioptre.errors import MissingExtraError
from lab.speed import TABLES, print_table


def main() -> None:
    """Prints the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m lab.speed", description=__doc__)
    parser.add_argument("tables", nargs="*", metavar=f"TABLE ({', '.join(TABLES)})")
    given = parser.parse_args().tables
    if unknown := [name for name in given if name not in TABLES]:  # choices refuse no table at all
        parser.error(f"there is no table {', '.join(unknown)}; there are {', '.join(TABLES)}")
    for name in given or TABLES:
        print(name)
        try:
            print_table(name)
        except MissingExtraError as error:
            print(f"left out: {error}")
        print()


if __name__ == "__main__":
    main()
