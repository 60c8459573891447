"""Files between commands: what a rig and an outcome may hold."""

from pathlib import Path

import pytest

from dioptre.errors import FileError
from dioptre.store.manifest import read_json
from dioptre.store.schema import OUTCOME, RIG, TOLD

NO_PLACE = '{"nominal_mm": {"left": [0, 0, 0], "right": [0, 0, 0]}}'


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"spacing_mm": NaN}', "NaN is no number of JSON's"),
        ('{"spacing_mm": 1e999}', "spacing_mm is a positive number, not inf"),
        (f'{{"spacing_mm": {"9" * 400}}}', "spacing_mm is a positive number"),
        ('{"spacing_mm": -1}', "spacing_mm is a positive number, not -1"),
        ('{"focal_px": "x"}', "focal_px is a positive number"),
        ('{"nominal_mm": 3}', "nominal_mm is three millimetres"),
        ('{"nominal_mm": {"left": [1, 2]}}', "nominal_mm is three millimetres"),
        (NO_PLACE, "nominal_mm is three millimetres"),
    ],
)
def test_a_rig_that_cannot_be_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "rig.json").write_text(text)
    with pytest.raises(FileError, match=told):
        RIG.check(tmp_path / "rig.json", read_json(tmp_path / "rig.json"))


def test_a_rig_and_an_outcome_that_are_written_are_read(tmp_path: Path) -> None:
    RIG.check(tmp_path, {"spacing_mm": 30.0, "nominal_mm": {"left": [1, 2, 3], "right": [3, 2, 1]}})
    RIG.check(tmp_path, {})
    OUTCOME.check(tmp_path, {"capture": "a", "fault": "", "confident": 0.5, "rig": None})
    with pytest.raises(FileError, match="no entry 'fault'"):
        OUTCOME.check(tmp_path, {"capture": "a", "confident": 0.5})


@pytest.mark.parametrize(
    "said",
    [{"name": "a"}, {"name": "a", "values": [1.0], "slope": [0.0], "information": [[1.0, 2.0]]}, [1.0]],
)
def test_what_a_capture_says_about_its_rig_has_one_size(tmp_path: Path, said: object) -> None:
    good = {"name": "a", "values": [1.0, 2.0], "slope": [0.0, 0.0], "information": [[1.0, 0.0], [0.0, 1.0]]}
    for right in (good, None):
        TOLD.check(tmp_path, {"capture": "a", "fault": "", "told": right})
    with pytest.raises(FileError, match="told"):
        TOLD.check(tmp_path, {"capture": "a", "fault": "", "told": said})
