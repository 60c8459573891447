"""`dioptre focus --at`: where the lens must go from a few looks."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")

import cv2
import numpy as np

from dioptre import METHODS
from dioptre.cli import main
from dioptre.cli.console import FOCUSED, NOT_FOCUSED
from dioptre.cli.focus import parse_at
from dioptre.errors import InputError
from dioptre.focusing.arguments import ONE_LOOK, SEVERAL_LOOKS
from dioptre.focusing.focus import focus_from
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, WHOLE, Autofocuser, Method
from dioptre.optics import CameraModel
from dioptre.pipeline.settings import Simulation
from dioptre.pipeline.simulate import simulate_patch
from dioptre.posterior import Posterior
from dioptre.problem import Problem
from dioptre.simulate.sensor import BLACK, WHITE
from dioptre.stack import FocalStack
from tests.cli.command_line import refused, run_json

N = len(FocusGrid.learnaf())

pytestmark = pytest.mark.filterwarnings("ignore:the confidence of")  # of methods that stand in for others


class Bright(Autofocuser):
    """Finds the focus at the positions that the brightness of its looks names, each as likely."""

    def scores(self, stack: FocalStack) -> np.ndarray:
        return self.posterior(stack).scores()

    def posterior(self, stack: FocalStack) -> Posterior:
        named = 100 * stack.pixels.mean(axis=(2, 3, 4))  # (batch, look)
        away = np.abs(np.arange(-1, N + 1) - named[..., None])
        return Posterior.of_logits(-(away.min(axis=1) ** 2), N)


class BrightFamily:
    def build(self, _key: str) -> Bright:
        return Bright()

    def scores(self, stack: FocalStack, keys: Sequence[str]) -> dict[str, np.ndarray]:
        return {key: Bright().scores(stack) for key in keys}


@pytest.fixture
def bright(monkeypatch: pytest.MonkeyPatch) -> None:
    for keys, looks in ((ONE_LOOK, 1), (SEVERAL_LOOKS, ANY)):
        for views, problem in ((1, Problem.SINGLE_GREEN), (2, Problem.SINGLE_DUAL_PIXEL)):
            row = Method(keys[views], "Bright", problem, BrightFamily(), "test", looks=looks)
            monkeypatch.setitem(METHODS, row.key, row)


def write(path: Path, position: float) -> str:
    """Writes a striped picture whose mean brightness names a position."""
    stripes = np.tile([-200, -200, 200, 200], (64, 16))
    cv2.imwrite(str(path), (round(655.35 * position) + stripes).astype(np.uint16))  # linear
    return str(path)


@pytest.mark.usefixtures("bright")
def test_one_look_tells_where_to_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left, _ = (write(tmp_path / f"look_{side}.png", 30) for side in ("left", "right"))
    found = run_json(capsys, "focus", left, "--at", "3")
    assert (found["index"], found["looks"], found["method"]) == (30, [3], "dioptre-single-dp")
    assert (found["unit"], found["position"]) == ("slice", pytest.approx(30, abs=0.1))
    assert main(["focus", write(tmp_path / "alone.png", 20), "--at", "25", "--risk", "0.99"]) == FOCUSED
    said = capsys.readouterr().out
    assert re.search(r"slice 20\.?0* \(5\.?0* farther\)", said)
    assert "dioptre-single-green" in said
    assert "expected error" in said
    assert "candidates" not in said


@pytest.mark.usefixtures("bright")
def test_slices_of_a_whole_stack_are_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = np.full((N, 64, 64), 51, np.uint8)
    stack[[7, 9]] = 77
    np.save(tmp_path / "stack.npy", stack)
    assert run_json(capsys, "focus", str(tmp_path / "stack.npy"), "--at", "7")["index"] == 30
    found = run_json(capsys, "focus", str(tmp_path / "stack.npy"), "--at", "9,7")
    assert (found["index"], found["looks"]) == (30, [9, 7])
    assert found["names"] == ["slice 9", "slice 7"]
    assert found["method"] == "dioptre-any-green"


@pytest.mark.usefixtures("bright")
def test_a_folder_has_a_picture_for_each_position(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in (1, 2):
        write(tmp_path / f"look{number}.png", 30)
    assert main(["focus", str(tmp_path), "--at", "12,31", "--risk", "0.99"]) == FOCUSED
    said = capsys.readouterr().out
    assert "2 pictures of 64 x 64, the lens at 12 and 31" in said
    assert re.search(r"slice 30\.?0* \(1\.?0* farther\)", said)


@pytest.mark.usefixtures("bright")
def test_two_sides_of_focus_are_shown_with_their_chances(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(tmp_path / "look1.png", 10)
    write(tmp_path / "look2.png", 40)
    assert main(["focus", str(tmp_path), "--at", "12,31"]) == NOT_FOCUSED
    said = capsys.readouterr()
    assert re.match(r"uncertain: slice \d+ is .* \(risk 0\.\d+, you accept 0\.01\)", said.err)
    assert "because: ambiguous: " in said.err
    row = next(line for line in said.out.splitlines() if "candidates" in line)
    assert "10 (probability 0.5" in row
    assert "40 (probability 0.5" in row
    far = run_json(capsys, "focus", str(tmp_path), "--at", "12,31", "--prior", "far")
    assert far["candidates"][0]["index"] == 10
    assert far["position"] == pytest.approx(10, abs=1)
    assert far["index"] == round(far["position"])
    assert far["candidates"][0]["probability"] > 0.7


@pytest.mark.usefixtures("bright")
def test_a_subject_beyond_the_ladder_is_said_to_be(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["focus", write(tmp_path / "near.png", 60), "--at", "20"]) == NOT_FOCUSED
    said = capsys.readouterr()
    assert said.err.startswith("uncertain: slice 48 is ")
    assert "because: beyond-the-near-end" in said.err
    assert re.search(r"slice 48\.?0* \(28\.?0* nearer\)", said.out)


@pytest.mark.usefixtures("bright")
def test_a_prior_may_come_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    weights = np.zeros(N)
    weights[40] = 1
    (tmp_path / "prior.txt").write_text("\n".join(str(weight) for weight in weights))
    look = write(tmp_path / "look.png", 38)
    assert run_json(capsys, "focus", look, "--at", "2", "--prior", str(tmp_path / "prior.txt"))["index"] == 40
    assert "3 weights" in refused(capsys, "focus", look, "--at", "2", "--prior", "3,2,1")
    assert "'farr'" in refused(capsys, "focus", look, "--at", "2", "--prior", "farr")


@pytest.mark.usefixtures("bright")
def test_looks_that_cannot_be_used_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    look = write(tmp_path / "look.png", 20)
    np.save(tmp_path / "stack.npy", np.zeros((5, 64, 64), np.uint8))
    assert "from 0 to 48 (slice), not to 49" in refused(capsys, "focus", look, "--at", "49")
    assert "from 0 to 48 (slice), not to -1" in refused(capsys, "focus", look, "--at=-1")
    assert "no position 2.5 (slice)" in refused(capsys, "focus", look, "--at", "2.5")
    assert "'3,x'" in refused(capsys, "focus", look, "--at", "3,x")
    assert "has 1 picture, but" in refused(capsys, "focus", look, "--at", "3,4")
    assert "5 pictures" in refused(capsys, "focus", str(tmp_path / "stack.npy"), "--at", "2")
    assert "no --plot" in refused(capsys, "focus", look, "--at", "2", "--plot", str(tmp_path / "x.png"))
    assert "takes a whole stack" in refused(capsys, "focus", look, "--at", "2", "--method", "local-ratio-1")
    assert "takes 2 looks, not one look" in refused(
        capsys, "focus", look, "--at", "2", "--method", "l2a-two-step-green"
    )


def test_parse_at_takes_numbers() -> None:
    assert parse_at("7") == (7,)
    assert parse_at("7.5, -30") == (7.5, -30)
    with pytest.raises(InputError, match=r"not '7;5'"):
        parse_at("7;5")


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the file of a simulated stack, its native rows doubled."""
    simulation = Simulation(seed=4, split="test", light="normal", exact_lens=True)
    codes = simulate_patch(CameraModel.pixel3(), simulation, 0)[0].native
    path = tmp_path_factory.mktemp("patch") / "stack.npy"
    np.save(path, np.repeat(codes[:, :, 1:-1], 2, axis=2))
    return path


@pytest.mark.parametrize("key", [key for key, row in METHODS.items() if row.looks != WHOLE])
def test_every_method_with_few_looks_can_be_called(
    key: str, stack: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = {1: (20,), 2: (20, 8)}.get(METHODS[key].looks, (20, 8, 13))
    looks = ",".join(str(position) for position in at)
    scale = ["--black", str(BLACK), "--white", str(WHITE), "--prior", "far"]
    found = run_json(capsys, "focus", str(stack), "--at", looks, "--method", key, *scale)
    frames = [(np.load(stack)[position], position) for position in at]
    expected = focus_from(frames, method=key, black=BLACK, white=WHITE, prior="far").to_json()
    assert {name: found[name] for name in expected} == expected
    assert found["expected_error"] is not None
