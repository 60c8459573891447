"""What measures dioptre and is no part of it: `python -m lab.NAME`, from the repository's root."""
