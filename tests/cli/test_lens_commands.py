"""`dioptre run`, `record` and `camera`, as a user types them."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from dioptre.autofocus.sweep import FrameScorer

from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT, DONE, FOCUSED, NOT_FOCUSED
from dioptre.cli.live import curve
from dioptre.store.recordings import Recording
from tests.cli.command_line import refused, run_json

TARGET = "simulated:1,target,64,exact"
MEASURE = ("--method", "laplacian-variance", "--risk", "0.2")


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweeps") / "target"
    assert main(["record", "--device", TARGET, str(out), "--every", "2"]) == DONE
    return out


def test_a_run_is_shown_step_by_step(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    trace = tmp_path / "t.jsonl"
    assert main(["run", "--device", TARGET, *MEASURE, "--trace", str(trace)]) == FOCUSED
    shown = capsys.readouterr().out
    steps = [json.loads(line) for line in trace.read_text().splitlines()]
    assert shown.count("sweep ") == sum(one["act"] == "sweep" for one in steps)
    assert "focused" in shown
    assert steps[-1]["index"] == pytest.approx(24, abs=2)  # 5.03 dioptres
    assert main(["run", "--device", TARGET, *MEASURE, "--trace", str(trace)]) == BAD_INPUT


def test_json_is_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "run", "--device", TARGET, *MEASURE, "--roi", "8,8,48,48", "--limits", "10,40")
    assert found["state"] == "focused"
    assert found["roi"] == [8, 8, 48, 48]
    assert (found["unit"], found["left_at"]) == ("slice", found["index"])
    assert {one["index"] for one in found["trace"]} <= set(range(10, 41))


def test_a_run_that_is_uncertain_stays_at_the_best_answer_and_says_what_takes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    device = ["run", "--device", TARGET, "--method", "laplacian-variance", "--limits", "0,12", "--start", "3"]
    assert main(device) == NOT_FOCUSED
    said = capsys.readouterr()
    told = re.match(
        r"uncertain: slice 12 is .* \(risk ([\d.]+), you accept 0\.01\): --risk \1 takes it\n", said.err
    )
    assert told, said.err
    assert "\nbecause: " in said.err
    assert "at slice 12 " in said.out
    assert f" {told[1]} " in said.out
    assert main([*device, "--risk", told[1]]) == FOCUSED


def test_a_run_that_fails_says_why_and_where_the_lens_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "wall.npy", np.full((12, 64, 64), 90, np.uint8))
    device = ["run", "--device", f"replay:{tmp_path / 'wall.npy'}", "--start", "3"]
    for flags, at in (((), 3), (("--on-failure", "stay"), None)):
        assert main([*device, *flags]) == NOT_FOCUSED
        said = capsys.readouterr()
        assert said.err.split("\n")[-2].startswith("failed: ")
        assert "uncertain" not in said.out + said.err
        assert ("at slice 3 " in said.out) is (at == 3)


def test_a_recording_is_read_by_other_commands(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    found = run_json(capsys, "focus", str(recorded))
    assert (found["state"], found["unit"]) == ("focused", "slice")
    assert found["position"] == pytest.approx(2 * found["subindex"], abs=1e-6)  # every second was recorded
    assert found["dioptres"] == pytest.approx(5.03, abs=0.4)
    told = run_json(capsys, "focus", str(recorded), "--positions", str(recorded / "positions.csv"))
    assert (told["unit"], told["index"]) == ("dioptres", found["index"])
    assert told["position"] == pytest.approx(found["dioptres"])
    again = run_json(capsys, "run", "--device", f"replay:{recorded}", *MEASURE)
    assert (again["state"], again["unit"]) == ("focused", "slice")
    assert abs(again["index"] - found["index"]) <= 1
    assert again["position"] == pytest.approx(found["position"], abs=2)
    swept = [one["position"] for one in again["trace"] if one["act"] == "sweep"]
    assert len(swept) == len(set(swept)) > 2
    known = Recording.read(recorded)
    assert known is not None
    assert len(known.grid) == 25
    assert known.device == TARGET


def test_looks_of_a_recording_are_named_in_its_unit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "target"
    assert main(["record", "--device", "simulated:1,target,128,exact", str(out), "--every", "2"]) == DONE
    capsys.readouterr()
    look = ["focus", str(out), "--camera", "pixel3", "--at"]
    found = run_json(capsys, *look, "10,24")
    assert (found["looks"], found["unit"]) == ([10, 24], "slice")
    assert found["names"] == ["slice_0005_left.png", "slice_0012_left.png"]
    assert "assumed-camera" not in found["reasons"]
    assert "there is no position 11 (slice): the nearest is 1" in refused(capsys, *look, "11")


def test_a_recording_of_which_pictures_are_gone_counts_slices(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in recorded.iterdir():
        if not file.name.startswith("slice_0024"):
            (tmp_path / file.name).write_bytes(file.read_bytes())
    capsys.readouterr()
    found = run_json(capsys, "focus", str(tmp_path))
    assert (found["unit"], found["dioptres"]) == ("slice", None)
    assert found["position"] == found["subindex"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_looks_stay_within_the_limits(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    device = f"simulated:{seed},128"
    found = run_json(capsys, "run", "--device", device, "--limits", "20,28", "--fallback", "none")
    assert {one["position"] for one in found["trace"]} <= set(range(20, 29))
    assert 20 <= found["position"] <= 28


def test_a_lens_arrives_by_rising_positions(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("run", "--device", TARGET, *MEASURE, "--start", "30", "--backlash", "2")
    trace = run_json(capsys, *arguments)["trace"]
    places = [one["position"] for one in trace]
    for at, step in enumerate(trace):
        if at and step["act"] != "approach":
            assert places[at] >= places[at - 1]
    assert any(one["act"] == "approach" for one in trace)


def test_a_lens_of_ones_own_does_what_its_page_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto" / "own-lens.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(python)?\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "my_lens", raising=False)
    (tmp_path / "my_lens.py").write_text(blocks[0][1])
    commands = [line.split()[1:] for kind, text in blocks if not kind for line in text.splitlines()]
    assert [one[0] for one in commands] == ["run", "record", "camera", "run", "run"]
    shown = []
    for command in commands:
        assert main(command) == DONE == FOCUSED
        shown.append(capsys.readouterr().out)
    assert "0 to 48 counts; one view of 128 x 128" in shown[0]
    exec(blocks[-1][1], {})  # the page's own Python
    assert capsys.readouterr().out.startswith("focused 2")


@pytest.mark.parametrize(
    ("lens", "sentence"),
    [
        (["--lens", "nowhere.py:move"], "there is no nowhere.py"),
        (["--lens", "webcam:2"], "a device is one of replay:STACK"),
        (["--lens", "bare.py:move", "--unit", "um"], "nobody has told the limits of bare.py:move: "),
        (["--lens", "bare.py:move", "--limits", "0,5"], "nobody has told the unit of bare.py:move: "),
        (["--unit", "um"], "a unit is told of a lens of your own, which simulated:1"),
    ],
)
def test_a_lens_that_cannot_be_used_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    lens: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "bare.py").write_text("def move(position): pass")
    assert sentence in refused(capsys, "run", "--device", TARGET, *lens)


def test_flags_tell_what_a_file_does_not(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "plain.py").write_text("def move(position): pass")
    lens = ("--lens", "plain.py:move", "--unit", "um", "--limits", "-5,5", "--every", "500")
    found = run_json(capsys, "record", "--device", TARGET, *lens, "sweep")
    assert (found["unit"], found["positions"]) == ("um", [-5, 0, 5])


def test_a_folder_in_use_is_not_written_over(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "is not empty" in refused(capsys, "record", "--device", TARGET, str(recorded))


def test_a_recording_that_is_damaged_is_said(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("slice_0000_left.png", "slice_0000_right.png"):
        (tmp_path / name).write_bytes((recorded / name).read_bytes())
    (tmp_path / "recording.json").write_text('{"kind": "recording"}')
    assert "does not describe a recording" in refused(capsys, "run", "--device", f"replay:{tmp_path}")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("run", "--device", "webcam"), "a device is one of replay:STACK"),
        (("run", "--device", "replay"), "say which stack is replayed"),
        (("run", "--device", "replay:nowhere"), "nowhere"),
        (("run", "--device", "simulated:x"), "a simulated camera is a seed"),
        (("run", "--device", TARGET, "--limits", "3"), "--limits takes FIRST,LAST, not '3'"),
        (("run", "--device", TARGET, "--limits", "far,near"), "--limits takes FIRST,LAST, not 'far,near'"),
        (("run", "--device", TARGET, "--limits", "10,60"), "from 0 to 48 (slice), not to 60"),
        (("run", "--device", TARGET, "--limits", "10.5,40"), "no position 10.5 (slice)"),
        (("run", "--device", TARGET, "--start", "60"), "from 0 to 48 (slice), not to 60"),
        (("run", "--device", TARGET, "--start", "5", "--limits", "40,10"), "limits 10 to 40, not at 5"),
        (("run", "--device", TARGET, "--backlash", "nan"), "unit of the lens, not nan"),
        (("run", "--device", TARGET, "--settle", "-1"), "seconds, 0 or more, not -1"),
        (("run", "--device", TARGET, "--timeout", "0"), "seconds above 0, not 0"),
        (("run", "--device", TARGET, "--patience", "long"), "--patience takes SECONDS, not 'long'"),
        (("run", "--device", TARGET, "--fallback", "never"), "takes sweep|always|none, not 'never'"),
        (("run", "--device", TARGET, "--looks", "0"), "a look or more, not 0"),
        (("run", "--device", TARGET, "--sure", "2"), "at most 1, not 2"),
        (("run", "--device", TARGET, "--risk", "2"), "above 0 and at most 1, not 2"),
        (("run", "--device", TARGET, "--camera", "nonesuch"), "there is no camera 'nonesuch'"),
        (("run", "--device", TARGET, "--full"), "--full goes with --json"),
        (("run", "--device", TARGET, "--roi", "1,2"), "--roi takes x,y,w,h"),
        (("run", "--device", TARGET, "--method", "nonesuch"), "nonesuch"),
        (("record", "--device", TARGET, "x", "--every", "0"), "by one or more at a time"),
        (("record", "--device", TARGET, "x", "--limits", "5,60"), "from 0 to 48 (slice), not to 60"),
        (("camera", "--device", TARGET, "no/such/folder.toml"), "there is no folder"),
    ],
)
def test_bad_input_is_one_sentence(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    arguments: tuple[str, ...],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(list(arguments)) == BAD_INPUT
    out, said = capsys.readouterr()
    assert out == ""
    assert sentence in said
    assert said.count("\n") == 1
    assert not (tmp_path / "x").exists()


def test_a_camera_is_measured_and_its_file_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    out = tmp_path / "mine.toml"
    device = "simulated:1,target,exact"
    assert main(["camera", "--device", device, str(out), "--every", "2"]) == DONE
    said = capsys.readouterr().out
    assert "blur grows by" in said
    assert "sure to" in said
    found = run_json(capsys, "camera", "--device", device, str(out), "--every", "2", "--overwrite")
    assert found["growth_px"] == pytest.approx(2.96, rel=0.3)  # of a phone that was drawn
    assert found["unit"] == "dioptres"


def test_a_camera_that_was_seen_from_one_side_has_no_number_for_the_other(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    device = ("--device", "simulated:1,target,exact", "--limits", "0,24", "--every", "2")
    found = run_json(capsys, "camera", *device, str(tmp_path / "mine.toml"))
    assert found["growth_near_px"] is None
    assert found["growth_far_px"] == pytest.approx(2.96, rel=0.3)
    assert main(["camera", *device, str(tmp_path / "again.toml")]) == DONE
    said = capsys.readouterr().out
    assert "nearer not seen" in said
    assert "nan" not in said


def test_a_plot_that_cannot_be_drawn_is_said_before_the_lens_moves(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("matplotlib")
    assert "not .xyz" in refused(capsys, "run", "--device", TARGET, "--plot", str(tmp_path / "a.xyz"))


def test_a_run_prints_a_score_that_is_not_finite_as_null(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scores, seen = FrameScorer.scores, list[int]()

    def some(self: FrameScorer, frames: np.ndarray) -> np.ndarray:
        seen.append(len(frames))
        return scores(self, frames) if len(seen) > 2 else np.array([-np.inf, np.nan][len(seen) - 1 :][:1])

    monkeypatch.setattr(FrameScorer, "scores", some)
    trace = tmp_path / "t.jsonl"
    found = run_json(capsys, "run", "--device", TARGET, *MEASURE, "--trace", str(trace))
    assert [one["score"] for one in found["trace"]].count(None) >= 2
    for line in trace.read_text().splitlines():
        assert "NaN" not in line
        assert "Infinity" not in line


def test_a_long_ladder_is_drawn_in_few_columns() -> None:
    scores = [float("-inf")] * 1001
    scores[100], scores[500] = 1.0, 2.0
    line = curve(scores, 500, 66)
    assert len(line) == 66
    assert "[█]" in line
    assert "▁" in line
