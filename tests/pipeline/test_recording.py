"""A sweep of a camera as a folder: from far to near, within limits, with all that is known of its grid."""

import json
from pathlib import Path

import numpy as np
import pytest

from dioptre.cameras.replay import open_device
from dioptre.errors import InputError
from dioptre.grid import FocusGrid
from dioptre.pipeline.recording import places_of, record
from dioptre.pipeline.settings import Sweep
from dioptre.store.recordings import Recording
from tests.autofocus.lens_world import LensCamera

STAGE = FocusGrid(range(0, 90, 10), "um", nearer=False)  # near to far, as its driver counts


def ignore(_done: int, _total: int) -> None: ...


def test_frames_are_recorded_from_far_to_near_with_unit_positions_and_nearer(tmp_path: Path) -> None:
    camera = LensCamera(4, grid=STAGE, noise=0.0)
    told = record(camera, "test:", tmp_path / "sweep", Sweep(), ignore)
    assert camera.visited == list(range(8, -1, -1))
    assert (told.unit, told.nearer, told.positions) == ("um", True, tuple(range(80, -1, -10)))
    assert Recording.read(tmp_path / "sweep") == told
    assert told.grid == STAGE.turned()
    replay = open_device(str(tmp_path / "sweep"))
    assert replay.grid == STAGE.turned()
    np.testing.assert_allclose(replay.capture(8), camera.capture(0), atol=1e-4)


@pytest.mark.parametrize("limits", [(20, 60), (60, 20), (19.0, 64.9)])
def test_a_sweep_keeps_to_limits_in_the_lens_s_unit_and_takes_every_so_many(
    limits: tuple[float, float], tmp_path: Path
) -> None:
    camera = LensCamera(4, grid=STAGE)
    told = record(camera, "test:", tmp_path / "sweep", Sweep(limits=limits, every=2), ignore)
    assert told.positions == (60, 40, 20)
    lines = (tmp_path / "sweep" / "positions.csv").read_text().splitlines()
    assert [line.split(",")[1] for line in lines] == ["position", "60.0", "40.0", "20.0"]


def test_of_slices_with_dioptres_both_are_recorded(tmp_path: Path) -> None:
    grid = FocusGrid.uniform(n=5)
    told = record(LensCamera(2, grid=grid), "test:", tmp_path / "sweep", Sweep(every=2), ignore)
    assert (told.unit, told.positions) == ("slice", (0, 2, 4))
    assert told.dioptres == grid.dioptres[::2].tolist()
    assert told.grid == FocusGrid([0, 2, 4], dioptres=grid.dioptres[::2])


def test_of_unknown_positions_nulls_are_recorded_and_read_again(tmp_path: Path) -> None:
    told = record(LensCamera(2, 4), "test:", tmp_path / "sweep", Sweep(), ignore)
    assert (told.dioptres, told.nearer, told.positions) == ([None] * 4, None, (0, 1, 2, 3))
    assert json.loads((tmp_path / "sweep" / "recording.json").read_text())["nearer"] is None
    assert open_device(str(tmp_path / "sweep")).grid == FocusGrid(range(4))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (Sweep(limits=(20, 24)), "from one position to another, .* not from 20 to 20 by 1"),
        (Sweep(every=0), "not from 0 to 80 by 0"),
        (
            Sweep(limits=(20, 95)),
            r"limits of a lens are two of its positions: positions go from 0 to 80 \(um\), not to 95",
        ),
    ],
)
def test_a_sweep_that_is_none_is_refused(how: Sweep, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        places_of(STAGE, how)
