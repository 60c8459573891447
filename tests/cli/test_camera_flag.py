"""`dioptre focus --camera`: positions in and out in a camera's own unit."""

import re
from pathlib import Path

import cv2
import numpy as np
import pytest

from dioptre import METHODS
from dioptre.autofocus import autofocus
from dioptre.cameras.blur_units import WINDOW
from dioptre.cli import main
from dioptre.cli.console import FOCUSED
from dioptre.focusing import focus
from dioptre.focusing.arguments import ONE_LOOK, SEVERAL_LOOKS
from dioptre.methods.base import ANY, Method
from dioptre.optics import STEP_PX
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from tests.cli.command_line import refused, run_json
from tests.fakes import FamilyOf, Probable

NEARER = 4  # steps

pytestmark = pytest.mark.filterwarnings("ignore:the confidence of")  # of methods that stand in for others


@pytest.fixture(autouse=True)
def at_any_risk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures here are flat; where the lens goes is tested, and not how sure that is."""
    for room in (focus, autofocus):
        monkeypatch.setattr(room, "check_risk", lambda _risk: 1.0)


class Nearer(Probable):
    """Finds the focus always so many steps nearer than the last look."""

    is_network = True

    def logits(self, stack: FocalStack) -> np.ndarray:
        return -4.0 * (np.arange(WINDOW) - stack.indices[:, -1:] - NEARER) ** 2


@pytest.fixture(autouse=True)
def nearer(monkeypatch: pytest.MonkeyPatch) -> None:
    for keys, looks in ((ONE_LOOK, 1), (SEVERAL_LOOKS, ANY)):
        row = Method(keys[1], "Nearer", Problem.SINGLE_GREEN, FamilyOf(Nearer), "test", looks=looks)
        monkeypatch.setitem(METHODS, row.key, row)


@pytest.fixture
def camera(tmp_path: Path) -> str:
    """Returns the file of a stage of two counts a step, more of them farther."""
    path = tmp_path / "stage.toml"
    path.write_text(f'name = "stage"\nunit = "counts"\ngrowth_px = {-STEP_PX / 2}\nfar = 2000\nnear = 1000\n')
    return str(path)


@pytest.fixture
def picture(tmp_path: Path) -> str:
    path = tmp_path / "look.png"
    cv2.imwrite(str(path), np.tile([90, 90, 108, 108], (64, 16)).astype(np.uint8))
    return str(path)


def test_a_look_is_answered_in_counts(camera: str, picture: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "focus", picture, "--at", "1500", "--camera", camera)
    assert found["position"] == pytest.approx(1492.0)
    assert (found["unit"], found["looks"], found["reasons"]) == ("counts", [1500.0], [])
    assert main(["focus", picture, "--at", "1500", "--camera", camera]) == FOCUSED
    said = capsys.readouterr()
    assert "the lens at 1500 counts" in said.out
    assert re.search(r"1492(\.\d+)? counts \(8(\.\d+)? nearer\)", said.out)  # digits as the error allows
    assert "assumed" not in said.out + said.err


def test_without_a_camera_the_phone_is_assumed_and_that_is_said(
    picture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_json(capsys, "focus", picture, "--at", "20")["reasons"] == ["assumed-camera"]
    assert main(["focus", picture, "--at", "20"]) == FOCUSED
    said = capsys.readouterr()
    assert "assumed-camera" in said.out
    assert "beware: assumed-camera: nobody said whose pictures these are" in said.err
    assert "uncertain" not in said.err
    assert run_json(capsys, "focus", picture, "--at", "2.5", "--camera", "pixel3")["reasons"] == []


def test_looks_are_found_in_a_stack_by_their_positions(
    camera: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "stack.npy", np.full((5, 64, 64), 99, np.uint8))
    stack = [str(tmp_path / "stack.npy"), "--camera", camera, "--positions", "1500:-10"]
    found = run_json(capsys, "focus", *stack, "--at", "1480,1490")
    assert (found["names"], found["looks"]) == (["slice 2", "slice 1"], [1480.0, 1490.0])
    assert found["position"] == pytest.approx(1482.0)
    whole = run_json(capsys, "focus", *stack, "--method", SEVERAL_LOOKS[1], "--full")
    assert (whole["unit"], len(whole["scores"])) == ("counts", 5)
    assert whole["positions"] == [1500.0, 1490.0, 1480.0, 1470.0, 1460.0]
    assert "there is no position 1485 (counts): the nearest is 14" in refused(
        capsys, "focus", *stack, "--at", "1485"
    )


def test_what_does_not_fit_is_refused(camera: str, picture: str, capsys: pytest.CaptureFixture[str]) -> None:
    look = ["focus", picture, "--camera", camera]
    assert "positions go from 2000 to 1000 (counts), not to 20" in refused(capsys, *look, "--at", "20")
    assert "such as 10,25, not 'x'" in refused(capsys, *look, "--at", "x")
    assert "has 1 picture, but --at names 2 positions" in refused(capsys, *look, "--at", "1500,1600")
    assert "stage counts in counts: positions in um say nothing of it (--positions)" in refused(
        capsys, *look, "--at", "1500", "--positions", "0:5:245um"
    )
    assert "no camera 'nonesuch'" in refused(capsys, "focus", picture, "--at", "1", "--camera", "nonesuch")
