import pytest

pytest.importorskip("pyarrow")

import numpy as np

from dioptre.evaluate.example_figures import Example, example_page, example_stacks

pytest.importorskip("matplotlib")

SLICES = np.random.default_rng(0).integers(0, 256, (9, 8, 8)).astype(np.uint8)


def titles(figure: object) -> list[str]:
    return [axes.get_title() for axes in figure.axes]  # type: ignore[attr-defined]


def test_the_slice_in_focus_is_among_those_shown() -> None:
    for truth in range(9):
        found = titles(example_stacks([Example("a", SLICES, truth, (), ())], shown=4))
        assert len(found) == 4
        assert f"{truth}: in focus" in found
        numbers = [int(one.partition(":")[0]) for one in found]
        assert numbers == sorted(numbers)


def test_a_page_shows_what_was_seen_chosen_and_true() -> None:
    seen = Example("a", SLICES, 5, [("input: 2", SLICES[2])], [("zncc", 7), ("net", 5)])
    whole = Example("b", SLICES, 3, [("one of all: 4", SLICES[4])], [("variance", 0)])
    assert titles(example_page([seen, whole])) == [
        "input: 2",
        "zncc\n7 (Err +2)",
        "net\n5 (Err 0)",
        "in focus:\n5",
        "one of all: 4",
        "variance\n0 (Err -3)",
        "in focus:\n3",
    ]
