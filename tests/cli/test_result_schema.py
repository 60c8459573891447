"""What `focus` and `run` print with --json obeys docs/reference/result.schema.json; with finite numbers."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from dioptre import Reason, State
from dioptre.focusing.trace import Act
from tests.cli.command_line import run_json
from tests.cli.test_stacks import sweep
from tests.schema import faults

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "reference" / "result.schema.json").read_text())


@pytest.fixture(scope="module")
def stacks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Stacks that are answered in every way: sharp, black, flat, not finite, at two depths, in a folder."""
    folder = tmp_path_factory.mktemp("stacks")
    sharp = sweep(4)
    np.save(folder / "sharp.npy", sharp)
    np.save(folder / "large.npy", np.tile(sharp, (1, 2, 2)))
    np.save(folder / "edge.npy", sharp[:6])
    np.save(folder / "short.npy", sharp[3:5])
    np.save(folder / "black.npy", np.zeros_like(sharp))
    np.save(folder / "white.npy", np.full_like(sharp, 255))
    np.save(
        folder / "two.npy",
        np.concatenate([np.tile(sweep(2), (1, 3, 2)), np.tile(sweep(8, 1), (1, 3, 2))], axis=2),
    )
    holes = sharp.astype(np.float32) / 255
    holes[3], holes[:, :4, :4] = np.nan, np.inf
    np.save(folder / "holes.npy", holes)
    (folder / "many").mkdir()
    for at, one in enumerate(sharp):
        cv2.imwrite(str(folder / "many" / f"f{at}.png"), one)
    (folder / "many" / "notes.txt").write_text("no picture")
    return folder


def test_the_schema_knows_every_state_reason_and_act() -> None:
    told = SCHEMA["$defs"]
    assert told["state"]["enum"] == [one.value for one in State]
    assert told["reason"]["enum"] == [one.value for one in Reason]
    assert told["step"]["properties"]["act"]["enum"] == [one.value for one in Act]


@pytest.mark.parametrize("long", [(), ("--full",)], ids=["short", "full"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("sharp.npy",),
        ("edge.npy",),
        ("short.npy",),
        ("black.npy",),
        ("white.npy",),
        ("two.npy",),
        ("holes.npy",),
        ("many",),
        ("sharp.npy", "black.npy"),
        ("sharp.npy", "--positions", "0:0.5um", "--roi", "8,8,64,48"),
        ("sharp.npy", "--positions", "0:0.5"),  # the first one is at infinity
        ("large.npy", "--positions", "1:0.2", "--at", "1.2,2", "--camera", "pixel3"),
    ],
    ids=" ".join,
)
def test_a_focused_stack(
    arguments: tuple[str, ...], long: tuple[str, ...], stacks: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(stacks / word) if (stacks / word).exists() else word for word in arguments]
    assert list(faults(run_json(capsys, "focus", *words, *long), SCHEMA)) == []


@pytest.mark.parametrize("long", [(), ("--full",)], ids=["short", "full"])
@pytest.mark.parametrize(
    "flags",
    [(), ("--method", "laplacian-variance"), ("--limits", "0,9", "--start", "3"), ("--timeout", "0.001")],
)
def test_a_driven_lens(
    flags: tuple[str, ...], long: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    found = run_json(capsys, "run", "--device", "simulated:1,target,64,exact", *flags, *long)
    assert list(faults(found, SCHEMA)) == []


def test_a_replayed_lens(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "run", "--device", f"replay:{stacks / 'black.npy'}")
    assert list(faults(found, SCHEMA)) == []


def test_what_the_schema_forbids(stacks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "focus", str(stacks / "sharp.npy"))
    for wrong in ({"risk": 1.5}, {"index": 4.5}, {"state": "sharp"}, {"dioptre": 2.0}, {"position": None}):
        assert len(list(faults(found | wrong, SCHEMA))) == 1, wrong
    del found["unit"]
    assert list(faults(found, SCHEMA)) == [": no 'unit'"]
