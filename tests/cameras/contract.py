"""The contract of `dioptre.cameras.base` as tests: an adapter's test file inherits it.

class TestMyCamera(CameraContract):
    @pytest.fixture
    def camera(self) -> Camera: ...

    def position_of(self, camera) -> object: ...  # where the lens is, if that can be read
"""

import numpy as np
import pytest

from dioptre.cameras.base import Camera, connect
from dioptre.errors import InputError
from dioptre.grid import FocusGrid


class CameraContract:
    """What every camera promises. A subclass gives the fixture `camera`."""

    repeats = True  # whether two frames at one position are the same; not of a camera with noise

    def position_of(self, _camera: Camera) -> object:
        """Returns something that changes when the lens moves; nothing by default."""
        return None

    def lens_at(self, _camera: Camera) -> float | None:
        """Returns where the lens was sent, in the unit of the grid; None if that cannot be read."""
        return None

    def test_it_is_a_camera(self, camera: Camera) -> None:
        assert isinstance(camera, Camera)
        assert isinstance(camera.grid, FocusGrid)
        assert camera.views in (1, 2)
        assert len(camera.shape) == 2
        assert min(camera.shape) >= 1

    def test_positions_are_told_by_the_grid_alone(self, camera: Camera) -> None:
        assert len(camera.grid.unit) > 0
        assert not hasattr(camera, "positions")
        assert not hasattr(camera, "unit")

    def test_who_connects_it_counts_from_far_to_near(self, camera: Camera) -> None:
        connected, grid = connect(camera), camera.grid
        assert connected.near_first == (grid.nearer is False)
        assert connected.grid == (grid.turned() if connected.near_first else grid)
        asked: list[int] = []

        class Noted:
            views, shape, where = camera.views, camera.shape, camera.where

            def __init__(self) -> None:
                self.grid = grid

            def capture(self, index: int) -> np.ndarray:
                asked.append(index)
                return camera.capture(index)

        assert connect(Noted()).capture(1).shape == (camera.views, *camera.shape)
        assert asked == [len(grid) - 2 if connected.near_first else 1]

    def test_its_place_is_in_the_field_or_all_of_it(self, camera: Camera) -> None:
        where = camera.where
        assert where is None or (len(where) == 2 and all(-1 <= value <= 1 for value in where))

    def test_a_frame_has_the_views_and_the_shape_that_are_said(self, camera: Camera) -> None:
        for index in (0, len(camera.grid) // 2, len(camera.grid) - 1):
            frame = camera.capture(index)
            assert frame.dtype == np.float32
            assert frame.shape == (camera.views, *camera.shape)

    def test_pixels_are_finite_from_black_to_white(self, camera: Camera) -> None:
        frame = camera.capture(len(camera.grid) // 2)
        assert np.isfinite(frame).all()
        assert frame.min() >= 0
        assert frame.max() <= 1

    @pytest.mark.parametrize("off", [-1, 0, 1000], ids=["before", "after", "far after"])
    def test_a_position_off_the_grid_is_refused_before_anything_moves(self, camera: Camera, off: int) -> None:
        camera.capture(1)
        before = self.position_of(camera)
        index = off if off < 0 else len(camera.grid) + off
        with pytest.raises(InputError, match=rf"positions 0 to {len(camera.grid) - 1}, .* not {index}"):
            camera.capture(index)
        assert self.position_of(camera) == before

    @pytest.mark.parametrize("bad", [1.5, 1.0, "1", None, True, np.nan])
    def test_a_position_is_a_whole_number(self, camera: Camera, bad: object) -> None:
        camera.capture(1)
        before = self.position_of(camera)
        capture = type(camera).capture
        unchecked = getattr(capture, "__wrapped__", capture)  # past the types that the tests check
        with pytest.raises(InputError, match="the lens has positions 0 to"):
            unchecked(camera, bad)
        assert self.position_of(camera) == before

    def test_a_refused_position_does_no_harm(self, camera: Camera) -> None:
        with pytest.raises(InputError):
            camera.capture(-1)
        assert camera.capture(0).shape == (camera.views, *camera.shape)

    def test_positions_come_in_any_order_and_twice(self, camera: Camera) -> None:
        last = len(camera.grid) - 1
        order = [last, 0, last // 2, last // 2, last, 0]
        frames = [camera.capture(index) for index in order]
        if self.repeats:
            for index in set(order):
                first, again = (frame for at, frame in zip(order, frames, strict=True) if at == index)
                np.testing.assert_array_equal(first, again)

    def test_it_goes_between_positions_if_it_says_so(self, camera: Camera) -> None:
        told = connect(camera)
        low, high = sorted(told.grid.positions[:2].tolist())
        place = told.place(low + 0.4 * (high - low))
        frame = told.capture_at(place)
        assert frame.shape == (camera.views, *camera.shape)
        if not told.continuous:
            assert place == low
            return
        assert abs(place - (low + 0.4 * (high - low))) <= told.step / 2 + 1e-9
        assert self.lens_at(camera) in (None, pytest.approx(place, abs=1e-3))
        if self.repeats:
            np.testing.assert_array_equal(told.capture_at(low), told.capture(told.index_near(low)))

    @pytest.mark.parametrize("bad", ["1", None, True, np.nan, 1e30, -1e30])
    def test_what_is_no_position_is_refused_before_anything_moves(self, camera: Camera, bad: object) -> None:
        told = connect(camera)
        if not told.continuous:
            return
        camera.capture(1)
        before = self.position_of(camera)
        own = type(camera).capture_at  # type: ignore[attr-defined]
        with pytest.raises(InputError, match=r"a position is a number|positions go from"):
            getattr(own, "__wrapped__", own)(camera, bad)
        assert self.position_of(camera) == before

    def test_numpy_counts_as_python_does(self, camera: Camera) -> None:
        capture = type(camera).capture
        frame = getattr(capture, "__wrapped__", capture)(camera, np.int64(1))
        assert frame.shape == (camera.views, *camera.shape)

    def test_a_frame_is_its_callers_own(self, camera: Camera) -> None:
        frame = camera.capture(1)
        kept = frame.copy()
        frame[:] = 0.25
        other = camera.capture(0)
        assert not np.shares_memory(frame, other)
        if self.repeats:
            np.testing.assert_array_equal(camera.capture(1), kept)
