"""Volumes: what a file tells of its axes and spacing."""

import numpy as np
import pytest

from dioptre.errors import InputError, StackFileError
from dioptre.stacks.axes import Volume, Wanted, stacks_of, volume_of_array


@pytest.mark.parametrize("step", [float("inf"), 1e300, -1.0, 0.0, float("nan")])
def test_a_step_that_cannot_be_is_not_told(step: float) -> None:
    volume = volume_of_array(np.zeros((3, 8, 8), np.uint8), "ZYX")
    assert volume.told_by((), step).step_um is None
    assert volume.told_by((), 0.5).step_um == 0.5


# Which axis is the focus


def volume(axes: str, *lengths: int) -> Volume:
    return volume_of_array(np.zeros((*lengths, 8, 8), np.uint8), f"{axes}YX", "x.nd2")


@pytest.mark.parametrize(
    ("axes", "lengths"),
    [("T", (5,)), ("H", (5,)), ("C", (5,)), ("TZ", (5, 1)), ("HC", (5, 2)), ("TQ", (5, 4))],
)
def test_an_axis_that_is_not_z_is_no_focus(axes: str, lengths: tuple[int, ...]) -> None:
    with pytest.raises(StackFileError) as refused:
        stacks_of(volume(axes, *lengths))
    said = str(refused.value)
    assert f"axes {axes}YX of shape" in said
    assert "none of them is Z" in said
    assert f"moved along {axes[0]}" in said
    assert "(focus_along=...)" in said


@pytest.mark.parametrize("letter", ["T", "t", "H"])
def test_its_user_may_insist(letter: str) -> None:
    first, second = stacks_of(volume(f"{letter.upper()}C", 5, 2), Wanted(focus_along=letter))
    assert len(first) == len(second) == 5
    assert second.label == "channel 1"


def test_what_its_user_insists_on_must_be_there_and_leave_nothing_over() -> None:
    with pytest.raises(StackFileError, match=r"no axis T \(focus_along=\.\.\.\)"):
        stacks_of(volume("Z", 5), Wanted(focus_along="T"))
    with pytest.raises(StackFileError, match="say what Z is"):
        stacks_of(volume("TZ", 5, 3), Wanted(focus_along="T"))
    for wrong in ("TZ", "", "Y"):
        with pytest.raises(InputError, match="along one axis"):
            Wanted(focus_along=wrong)


@pytest.mark.parametrize("letter", ["Z", "Q", "I"])
def test_slices_and_pages_that_nobody_has_named_are_the_focus(letter: str) -> None:
    (found,) = stacks_of(volume(letter, 5))
    assert len(found) == 5
