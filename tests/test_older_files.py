"""Files that dioptre wrote before its rooms were moved (at d3edfbc) open, and mean what they meant."""

import hashlib
import json
from pathlib import Path

import pytest

from dioptre.cameras.camera_files import describe
from dioptre.cli import main
from dioptre.cli.console import DONE
from dioptre.methods.calibration import Calibration
from dioptre.methods.learned import WEIGHTS, Learned
from dioptre.optics import CameraModel

FILES = Path(__file__).parent / "fixtures" / "d3edfbc"
CALIBRATION = "da034da55ab81f8904d67ca0bc48f0005b14726f90a57f4f31d4a3756c0c2ef9"  # its identity then


def test_networks_are_the_same_to_the_byte_and_their_cards_open() -> None:
    for line in (FILES / "weights.sha256").read_text(encoding="utf-8").splitlines():
        expected, name = line.split()
        assert hashlib.sha256((WEIGHTS / name).read_bytes()).hexdigest() == expected, name
        if name != "learned-depth.onnx":
            assert Learned(WEIGHTS / name).identity == expected
            assert len(Learned(WEIGHTS / name).card.dioptres) == 49


def test_a_calibration_is_the_same_method() -> None:
    assert Calibration.from_toml(FILES / "calibration.toml").identity == CALIBRATION


def test_a_camera_is_the_same_camera() -> None:
    assert CameraModel.from_toml(FILES / "camera.toml") == CameraModel.pixel3()


def test_a_measured_camera_counts_as_it_did() -> None:
    optics = describe(FILES / "measured.toml")
    assert optics.unit == "dioptres"
    assert optics.growth_px == pytest.approx(3.2998, abs=1e-4)


def test_predictions_become_the_same_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyarrow")
    assert main(["report", str(FILES / "predictions"), str(tmp_path / "report"), "--json"]) == DONE
    tables = json.loads(capsys.readouterr().out)
    assert (tmp_path / "report" / "tables.json").is_file()
    assert "l2a-single-dp" in json.dumps(tables)
