"""Problem: which of the paper's problems is solved. Without NumPy, since the command line's help reads it."""

from enum import StrEnum


class Problem(StrEnum):
    """Which of the paper's problems a method solves: its views and how many slices it is shown."""

    STACK_GREEN = "I*"
    STACK_DUAL_PIXEL = "D*"
    SINGLE_GREEN = "I1"
    SINGLE_DUAL_PIXEL = "D1"

    @property
    def views(self) -> int:
        """How many views are needed: 1 green (made from two if given two), 2 left and right."""
        return 2 if self in (Problem.STACK_DUAL_PIXEL, Problem.SINGLE_DUAL_PIXEL) else 1

    @property
    def whole(self) -> bool:
        """Whether the whole stack is seen."""
        return self in (Problem.STACK_GREEN, Problem.STACK_DUAL_PIXEL)
