import numpy as np
import pytest

from dioptre.evaluate.examples import Example, displayed, example_page, example_stacks

pytest.importorskip("matplotlib")

SLICES = np.random.default_rng(0).random((9, 8, 8)).astype(np.float32)


def titles(figure: object) -> list[str]:
    return [axes.get_title() for axes in figure.axes]  # type: ignore[attr-defined]


def test_the_slice_in_focus_is_among_those_shown() -> None:
    for truth in range(9):
        found = titles(example_stacks([Example("a", SLICES, truth, None, ())], shown=4))
        assert len(found) == 4
        assert str(truth) in found
        assert [int(one) for one in found] == sorted(int(one) for one in found)


def test_a_page_shows_what_was_seen_chosen_and_true() -> None:
    seen = Example("a", SLICES, 5, 2, [("zncc", 7), ("net", 5)])
    whole = Example("b", SLICES, 3, None, [("variance", 0)])
    assert titles(example_page([seen, whole], "some")) == [
        "input: 2",
        "zncc\n7 (+2)",
        "net\n5 (+0)",
        "in focus: 5",
        "one of all: 4",
        "variance\n0 (-3)",
        "in focus: 3",
    ]


def test_a_stack_is_shown_by_one_range() -> None:
    shown = displayed(np.stack([SLICES[0], 0.5 * SLICES[0]]) + np.float32(0.1))
    assert shown.min() == 0
    assert shown.max() == 1
    assert shown[1].mean() < shown[0].mean()
