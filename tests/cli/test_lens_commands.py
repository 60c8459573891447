"""`dioptre run`, `record` and `camera`, as a user types them."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from dioptre.autofocus.looks import LensLooks
from dioptre.cli import main
from dioptre.cli.console import BAD_INPUT, DONE, FOCUSED, NOT_FOCUSED
from dioptre.cli.lens_memory import memory_file, state_folder
from dioptre.store.recordings import Recording
from tests.cli.command_line import refused, run_json

TARGET = "simulated:1,target,64,exact"
MEASURE = ("--method", "laplacian-variance")


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
    for act in ("look", "sweep", "verify"):
        assert shown.count(f"s  {act} ") == sum(one["act"] == act for one in steps)
    assert all(one["spread"] >= 0 for one in steps)
    assert "focused" in shown
    assert steps[-1]["index"] == pytest.approx(24, abs=2)  # 5.03 dioptres
    assert main(["run", "--device", TARGET, *MEASURE, "--trace", str(trace)]) == BAD_INPUT


def test_json_is_all_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "run", "--device", TARGET, *MEASURE, "--roi", "8,8,48,48", "--limits", "10,40")
    assert found["state"] == "focused"
    assert found["roi"] == [8, 8, 48, 48]
    assert found["unit"] == "slice"
    assert found["left_at"] == pytest.approx(found["position"], abs=0.5)
    assert all(10 <= one["position"] <= 40 for one in found["trace"])


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
    looked = [one["position"] for one in again["trace"] if one["act"] != "verify"]
    assert len(looked) == len(set(looked)) > 2
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
    assert all(20 <= one["position"] <= 28 for one in found["trace"])
    assert 20 <= found["position"] <= 28


def test_a_lens_arrives_by_rising_positions(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("run", "--device", TARGET, *MEASURE, "--start", "30", "--backlash", "2")
    trace = run_json(capsys, *arguments)["trace"]
    places = [one["position"] for one in trace]
    for at, step in enumerate(trace):
        if at and step["act"] != "approach" and places[at] > 0:  # nothing lies below the first
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
        (("run", "--device", TARGET, "--fallback", "never"), "takes sweep|none, not 'never'"),
        (("run", "--device", TARGET, "--looks", "0"), "a look or more, not 0"),
        (("run", "--device", TARGET, "--fallback", "always"), "takes sweep|none, not 'always'"),
        (("run", "--device", TARGET, "--sure", "2"), "run has no flag '--sure'"),
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
    places = set[float]()

    def some(self: LensLooks) -> float:
        places.add(self.last.place)
        return -np.inf if len(places) == 1 else np.nan

    monkeypatch.setattr(LensLooks, "detail", property(some))
    trace = tmp_path / "t.jsonl"
    found = run_json(capsys, "run", "--device", TARGET, *MEASURE, "--trace", str(trace))
    assert {one["score"] for one in found["trace"]} == {None}
    assert len(places) > 1
    for line in trace.read_text().splitlines():
        assert "NaN" not in line
        assert "Infinity" not in line


# What is kept of a lens

RIG = """
import dioptre

phone = dioptre.open_device("simulated:{seed},green")
limits, unit, step = (0, 480), "counts", 1
here = 240.0


def move(position):
    global here
    here = position


def snap():
    return phone.capture_at(here / 10)
"""


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Returns the command that focuses a camera and a lens in files of a person's own."""
    (tmp_path / "rig.py").write_text(RIG.format(seed=2))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    return ["run", "--device", "rig.py:snap", "--lens", "rig.py:move"]


def test_a_second_run_knows_what_the_first_has_learned(
    rig: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = run_json(capsys, *rig)
    assert first["state"] == "focused"
    (kept,) = (tmp_path / "state" / "dioptre" / "lenses").iterdir()
    assert any(str(kept) in note for note in first["notes"])
    told = json.loads(kept.read_text())
    assert (told["unit"], told["looks"]) == ("count", len(first["looks"]))
    second = run_json(capsys, *rig)
    assert second["state"] == "focused"
    assert len(second["trace"]) <= len(first["trace"])
    assert second["position"] == pytest.approx(first["position"], abs=20)
    assert not any(str(kept) in note for note in second["notes"])
    assert main(rig) == FOCUSED
    said = capsys.readouterr()
    assert re.search(r"│ learned +│ blur grows by [\d.]+ px a count", said.out)
    assert "blur grows by" not in said.err


def test_a_file_of_ones_own_remembers_and_none_does_not(
    rig: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_json(capsys, *rig, "--memory", "none")
    assert not (tmp_path / "state").exists()
    run_json(capsys, *rig, "--memory", "mine.json")
    assert json.loads(Path("mine.json").read_text())["unit"] == "count"
    assert not (tmp_path / "state").exists()


def test_a_damaged_memory_is_one_sentence(
    rig: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.json").write_text('{"unit": "counts"')
    assert "mine.json does not remember a lens" in refused(capsys, *rig, "--memory", "mine.json")
    (tmp_path / "folder.json").mkdir()
    assert "folder.json does not remember a lens" in refused(capsys, *rig, "--memory", "folder.json")


def test_a_memory_that_cannot_be_written_is_a_note(
    rig: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "state").write_text("no folder")
    found = run_json(capsys, *rig)
    assert found["state"] == "focused"
    assert any("what was learned of the lens could not be kept" in note for note in found["notes"])


def test_nothing_is_kept_of_recordings_and_simulated_devices(
    rig: list[str], recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_json(capsys, "run", "--device", f"replay:{recorded}")
    run_json(capsys, "run", "--device", "simulated:2,machine-vision-16mm")
    assert not (tmp_path / "state").exists()
    for device in (("simulated:1", "rig.py:move"), ("pair:rig.py:snap+replay:a",)):
        assert memory_file(None, device, (64, 64)) is None
    assert memory_file("a.json", ("simulated:1",), (64, 64)) == Path("a.json")


def test_another_address_size_or_folder_is_another_memory(
    rig: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ("rig.py:snap", "rig.py:move")
    names = [
        memory_file(None, devices, shape)
        for devices, shape in (
            (own, (480, 640)),
            (own, (240, 320)),
            (("indi:localhost:7624/CCD/Focuser",), (480, 640)),
            (("indi:localhost:7624/CCD/Focuser 2",), (480, 640)),
        )
    ]
    paired = memory_file(None, ("pair:rig.py:snap+rig.py:move",), (480, 640))
    assert paired == names[0]  # the same camera and the same lens
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    names.append(memory_file(None, own, (480, 640)))
    assert len(set(names)) == 5
    for name in names:
        assert name is not None
        assert re.fullmatch(r"[A-Za-z0-9-]+\.json", name.name)


@pytest.mark.parametrize(
    ("platform", "variables", "folder"),
    [
        ("linux", {}, "home/.local/state/dioptre"),
        ("linux", {"XDG_STATE_HOME": "ROOT/xdg"}, "xdg/dioptre"),
        ("linux", {"XDG_STATE_HOME": "not/absolute"}, "home/.local/state/dioptre"),
        ("darwin", {"XDG_STATE_HOME": "ROOT/xdg"}, "home/Library/Application Support/dioptre"),
        ("win32", {"LOCALAPPDATA": "ROOT/local"}, "local/dioptre"),
    ],
)
def test_the_state_folder_is_the_usual_one(
    platform: str,
    variables: dict[str, str],
    folder: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    told = {name: value.replace("ROOT", str(tmp_path)) for name, value in variables.items()}
    assert state_folder(told, platform) == tmp_path / folder
