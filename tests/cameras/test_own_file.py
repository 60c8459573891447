"""What a person has written in a file: functions, classes and objects as lenses and picture sources."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dioptre.cameras.devices import open_device, split_pair
from dioptre.cameras.own_file import is_own, load_own
from dioptre.errors import CameraError, FileError, InputError

RIG = """
import numpy as np

limits, unit = (0, 100), "steps"
at = 0.0
closed = []


def move(position):
    global at
    at = position


def snap():
    return np.full((8, 8), round(at), np.uint8)


class Motor:
    limits, unit, step = (0, 10), "um", 2.0

    def move(self, position):
        move(position)

    def close(self):
        closed.append(position)


class Needy:
    def __init__(self, port):
        pass


class Bare:
    def move(self, position):
        move(position)


number = 3
"""

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = set(sys.modules)

    def written(text: str = RIG, name: str = "my_rig.py") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    yield written
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_addresses_of_files_are_known() -> None:
    assert all(map(is_own, ("my_lens.py", "my_lens.py:move", "C:/rigs/my_lens.py:move", "/a/b.py:c")))
    assert not any(map(is_own, ("opencv:0", "replay:a.tif", "move", "", "my_lens.py.txt:move")))


def test_a_camera_and_a_lens_of_one_file_are_one_world(write: Write) -> None:
    write()
    with open_device("pair:my_rig.py:snap+my_rig.py:move") as camera:
        assert (camera.grid.unit, len(camera.grid)) == ("steps", 1001)
        assert camera.grid.positions[-1] == 100
        assert 255 * camera.capture(500).mean() == pytest.approx(50)
    with open_device("my_rig.py:snap", "my_rig.py") as camera:
        assert camera.grid.positions[-1] == 100


def test_a_class_is_made_and_closed(write: Write) -> None:
    write()
    with open_device("my_rig.py:snap", "my_rig.py:Motor", unit="um") as camera:
        assert camera.grid.positions.tolist() == [0, 2, 4, 6, 8, 10]
        module = load_own("my_rig.py")
        module.position = "at the end"
        assert module.closed == []
    assert module.closed == ["at the end"]


def test_a_device_of_ours_takes_the_pictures(write: Write) -> None:
    write()
    with open_device("pair:simulated:1,target,32+my_rig.py:move") as camera:
        assert camera.capture(3).shape == (2, 32, 32)


def test_what_a_file_does_not_tell_is_told_beside(write: Write) -> None:
    write("def move(position): pass\n", "bare.py")
    write()
    with open_device("my_rig.py:snap", "bare.py:move", limits=(50, -50), unit="um") as camera:
        assert camera.grid.positions[[0, -1]].tolist() == [-50, 50]
        assert camera.grid.unit == "um"
    with pytest.raises(
        InputError, match=r"nobody has told the limits of bare.py:move: limits = 0, 4000 in it"
    ):
        open_device("my_rig.py:snap", "bare.py:move", unit="um")
    with pytest.raises(InputError, match=r'the unit of bare.py: unit = "steps" in it, or --unit'):
        open_device("pair:my_rig.py:snap+bare.py", limits=(0, 5))
    with open_device("my_rig.py:snap", "my_rig.py:Bare") as camera:
        assert camera.grid.unit == "steps"  # its file's


@pytest.mark.parametrize(
    ("lens", "sentence"),
    [
        ("nowhere.py:move", "there is no nowhere.py"),
        ("my_rig.py:mov", "my_rig.py has no mov: it has move, snap, Motor"),
        ("my_rig.py:number", "my_rig.py:number moves no lens: say which function does"),
        ("my_rig.py:Needy", "my_rig.py:Needy cannot be made without arguments: TypeError: .* 'port'"),
        ("broken.py:move", "broken.py cannot be run: RuntimeError: no such port"),
        ("leaving.py:move", "leaving.py cannot be run: SystemExit: 3"),
        ("wrong.py:move", r"broken|wrong.py cannot be run: SyntaxError"),
        ("my_rig.py:move", "the lens my_rig.py:move counts in steps, not in um"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(write: Write, lens: str, sentence: str) -> None:
    write()
    write("raise RuntimeError('no such\\nport')", "broken.py")
    write("import sys\nsys.exit(3)", "leaving.py")
    write("def move(:", "wrong.py")
    with pytest.raises((FileError, InputError), match=sentence) as told:
        open_device("my_rig.py:snap", lens, unit="um")
    assert "\n" not in str(told.value)


def test_a_file_that_could_not_be_run_is_run_again(write: Write) -> None:
    write("raise RuntimeError('not yet')", "late.py")
    with pytest.raises(FileError, match="not yet"):
        load_own("late.py")
    write("ready = 1", "late.py")
    assert load_own("late.py").ready == 1


def test_a_file_may_import_its_neighbours(write: Write) -> None:
    write("PORT = 7", "my_neighbour.py")
    write("import my_neighbour\nport = my_neighbour.PORT", "next_to.py")
    assert load_own("next_to.py:port") == 7


def test_what_was_opened_is_closed_if_the_other_half_is_not_there(write: Write) -> None:
    write()
    module = load_own("my_rig.py")
    module.position = "closed"
    with pytest.raises(FileError, match=r"there is no other.py"):
        open_device("other.py:snap", "my_rig.py:Motor")
    assert module.closed == ["closed"]
    module.snap = lambda: None
    with pytest.raises(CameraError, match="no frame: None"):
        open_device("my_rig.py:snap", "my_rig.py:Motor")
    assert module.closed == ["closed", "closed"]


def test_a_plus_in_a_name_is_part_of_it() -> None:
    assert split_pair("indi:h/ZWO+ ASI/F+my_lens.py:move") == ("indi:h/ZWO+ ASI/F", "my_lens.py:move")
    assert split_pair("replay:a+b+indi:h//F+") == ("replay:a+b", "indi:h//F+")


def test_half_a_camera_and_a_unit_of_a_whole_one_are_refused() -> None:
    with pytest.raises(InputError, match=r"my_rig.py:snap takes pictures only: say which lens"):
        open_device("my_rig.py:snap")
    with pytest.raises(InputError, match="a unit is told of a lens of your own, which simulated:1 has not"):
        open_device("simulated:1", unit="um")
