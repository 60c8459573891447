"""Drawn stacks are the same everywhere, and show what a lens does."""

import zlib

import numpy as np

import dioptre
from lab.drawn_stacks import SIZE, SLICES, draw_stack, sharp_slice


def test_every_machine_draws_the_same() -> None:
    stack = draw_stack(0)
    assert (stack.shape, stack.dtype) == ((SLICES, 2, SIZE, SIZE), np.float32)
    assert zlib.crc32(stack.tobytes()) == 2220269064


def test_a_stack_is_sharp_where_it_says_and_its_views_part_on_either_side() -> None:
    stack, sharp = draw_stack(4), sharp_slice(4)
    grid = dioptre.FocusGrid.learnaf()
    assert abs(dioptre.focus(stack, grid=grid).index - sharp) <= 1
    for at in (sharp - 9, sharp + 9):
        found = dioptre.focus_from(stack[at], at=at, grid=grid)
        assert abs(found.index - sharp) <= 3
