"""What every camera asks before it moves."""

import numpy as np
import pytest

from dioptre.cameras.base import to_index
from dioptre.errors import InputError
from dioptre.grid import FocusGrid

GRID = FocusGrid.learnaf()


@pytest.mark.parametrize("at", [20.5, 20.0, "20", None, True, -1, 49, np.nan, np.float64(3)])
def test_a_position_is_the_whole_number_of_one_of_the_grid(at: object) -> None:
    with pytest.raises(InputError, match="the lens has positions 0 to 48, counted from 0, not"):
        to_index(at, GRID)


def test_numpy_counts_as_python_does() -> None:
    assert to_index(np.int16(7), GRID) == 7
