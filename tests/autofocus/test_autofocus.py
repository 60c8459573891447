"""A lens that is focused by a few looks: the same search that is evaluated."""

from pathlib import Path

import numpy as np
import pytest

from dioptre.autofocus.autofocus import Autofocus
from dioptre.cameras.camera_files import describe
from dioptre.cameras.replay import ReplayCamera
from dioptre.confidence.reasons import Reason, State
from dioptre.errors import CameraError, InputError, MethodError
from dioptre.grid import FocusGrid
from dioptre.methods import METHODS
from dioptre.methods.base import ANY
from dioptre.optics import CameraModel
from dioptre.simulate.render import plane_stack
from dioptre.simulate.texture import dead_leaves
from dioptre.stack import FocalStack
from tests.autofocus.lens_world import LensCamera

CAMERA = CameraModel.pixel3()
TRUTH = 31
ONE_LOOK = [key for key, row in METHODS.items() if row.looks in (1, ANY)]
TWO_STEPS = [key for key, row in METHODS.items() if row.looks == 2]


@pytest.fixture(scope="module")
def stack() -> FocalStack:
    rng = np.random.default_rng(3)
    texture = 0.25 * dead_leaves(200, 200, rng)
    pixels = plane_stack(CAMERA, float(CAMERA.grid.dioptres[TRUTH]), texture, rng, 128, shot=0.2, read=1.0)
    return FocalStack.full(pixels[None], CAMERA.grid, where=np.array([[0.1, 0.2]]))


@pytest.mark.parametrize("key", ONE_LOOK)
def test_after_one_look_a_lens_knows_what_the_method_says_of_it(stack: FocalStack, key: str) -> None:
    method = METHODS[key]
    recorded = stack if method.views == 2 else stack.green()
    result = Autofocus(ReplayCamera(recorded), method=key, looks=1, start=24, fallback="none").run()
    said = method.build().posterior(recorded.at([24]))
    assert said is not None
    known = result.trace[0].posterior
    assert known is not None
    assert result.looks[0] == 24
    assert np.abs(known[1:-1] - said.ladder[0]).sum() < 0.5
    assert abs(np.argmax(known[1:-1]) - np.argmax(said.ladder[0])) <= 2


@pytest.mark.parametrize("key", TWO_STEPS)
def test_a_method_of_two_steps_is_for_tables(stack: FocalStack, key: str) -> None:
    camera = ReplayCamera(stack)
    with pytest.raises(MethodError, match="cannot be asked about one look"):
        Autofocus(camera, method=key).run()
    assert camera.visited == []


def test_the_lens_is_left_where_it_is_in_focus(stack: FocalStack) -> None:
    camera = ReplayCamera(stack)
    result = Autofocus(camera, risk=0.05, fallback="none").run()
    assert result.state is State.FOCUSED
    assert abs(result.index - TRUTH) <= 1
    assert camera.visited[: len(result.looks)] == [24, *result.looks[1:]]
    assert camera.visited[-1] == result.index == result.left_at
    assert [one.index for one in result.trace] == camera.visited
    assert result.method == "dioptre-any-dp"
    assert result.dioptres == pytest.approx(CAMERA.grid.dioptres[TRUTH], abs=0.4)


def test_a_region_of_the_frame_decides(stack: FocalStack) -> None:
    wide = FocalStack.full(np.tile(stack.pixels, (1, 1, 1, 1, 2)), CAMERA.grid)
    result = Autofocus(ReplayCamera(wide)).run(roi=(128, 0, 128, 128))
    assert result.roi == (128, 0, 128, 128)
    assert abs(result.index - TRUTH) <= 2


def told(focuser: Autofocus, settings: dict) -> Autofocus:
    """Returns it with settings that the tests' type checker would stop on their way."""
    for name, value in settings.items():
        assert hasattr(focuser, name)
        object.__setattr__(focuser, name, value)
    return focuser


@pytest.mark.parametrize(
    ("settings", "roi", "error", "sentence"),
    [
        ({"start": 49}, None, InputError, r"from 0 to 48 \(slice\), not to 49"),
        ({"method": "l2a-stack-dp"}, None, MethodError, "cannot be asked about one look"),
        ({"start": 30.5}, None, InputError, r"no position 30\.5 \(slice\): the nearest is 30"),
        (
            {"limits": (0, 49)},
            None,
            InputError,
            r"limits of a lens are two of its positions: .* from 0 to 48 \(slice\)",
        ),
        ({"limits": (0, 10), "start": 20}, None, InputError, "within its limits 0 to 10, not at 20"),
        ({"fallback": "hope"}, None, InputError, "fallback is one of 'sweep', 'none', not 'hope'"),
        ({"on_failure": "cry"}, None, InputError, "on_failure is one of 'return', 'stay'"),
        ({"risk": 2.0}, None, InputError, r"a risk is above 0 and at most 1, not 2\.0"),
        ({"method": "nonesuch"}, None, MethodError, "no method 'nonesuch'"),
        ({}, (0, 0, 400, 20), InputError, "does not lie inside"),
        ({}, [(0, 0, 64, 64), (64, 64, 64, 64)], InputError, "one region, not to 2"),
        ({"looks": 0}, None, InputError, "a look or more"),
    ],
)
def test_what_cannot_be_used_is_said_before_anything_moves(
    stack: FocalStack, settings: dict, roi: object, error: type, sentence: str
) -> None:
    camera = ReplayCamera(stack)
    with pytest.raises(error, match=sentence):
        told(Autofocus(camera), settings).run(roi)
    assert camera.visited == []


def test_a_method_for_two_views_refuses_a_camera_with_one(stack: FocalStack) -> None:
    with pytest.raises(MethodError, match="needs the left and the right view"):
        Autofocus(ReplayCamera(stack.green()), method="dioptre-single-dp").run()


def test_a_camera_that_fails_is_heard(stack: FocalStack) -> None:
    class Stuck(ReplayCamera):
        def capture(self, index: int) -> np.ndarray:
            raise CameraError(f"the lens is stuck at {index}")

    result = Autofocus(Stuck(stack)).run()
    assert (result.state, result.reasons, result.left_at) == (State.FAILED, (Reason.CAMERA_FAILED,), None)
    assert "the lens is stuck at 24" in result.notes[0]


# What is told of the camera's positions


def sharpened(n: int = 49, truth: float = 31) -> FocalStack:
    """Returns a stack of which nobody has told where its slices were taken."""
    camera = LensCamera(truth, n)
    pixels = np.stack([camera.see(float(at)) for at in range(n)])
    return FocalStack.full(pixels[None], camera.grid)


def test_a_region_that_is_too_small_for_networks_is_focused_by_its_contrast() -> None:
    camera = ReplayCamera(sharpened())
    result = Autofocus(camera, risk=0.05).run()
    assert result.state is State.FOCUSED
    assert abs(result.index - TRUTH) <= 1
    assert result.method == "contrast"
    assert "needs patches of 128 pixels or more" in result.notes[0]
    assert result.notes[0].endswith("looks were compared by their contrast alone")
    with pytest.raises(MethodError, match="dioptre-any-green needs patches of 128 pixels or more"):
        Autofocus(camera, method="dioptre-any-green").run()


@pytest.mark.parametrize("nearer", [True, None])
@pytest.mark.parametrize("stride", [1, 3])
def test_positions_of_which_nothing_is_known_are_no_obstacle_to_networks(
    stack: FocalStack, stride: int, nearer: bool | None
) -> None:
    part = stack.pixels[:, 1::stride]
    grid = FocusGrid(120.0 * np.arange(part.shape[1]), "counts", nearer=nearer)
    camera = ReplayCamera(FocalStack.full(part, grid))
    result = Autofocus(camera, risk=0.05, start=0.0).run()
    assert result.method == "dioptre-any-dp"
    assert abs(1 + stride * result.index - TRUTH) <= 2
    assert len(result.trace) <= 7
    assert "blur grows by" in result.notes[-1]
    assert "px a count" in result.notes[-1]


def test_a_camera_s_name_or_file_tells_how_blur_grows_along_its_positions(tmp_path: Path) -> None:
    stage = FocusGrid(10.0 - 0.5 * np.arange(21), "um")
    (tmp_path / "stage.toml").write_text('unit = "um"\ngrowth_px = 0.5\nsharp_px = 0.6\n')
    connected = Autofocus(LensCamera(grid=stage), grid=tmp_path / "stage.toml")._connected()
    assert connected.near_first  # larger ones focus nearer, and its positions fall
    assert connected.grid.positions.tolist() == stage.positions[::-1].tolist()
    assert connected.grid.blur_per_unit_px is not None
    assert set(connected.grid.blur_per_unit_px) == {0.5}
    assert (connected.grid.unit, connected.grid.nearer, connected.grid.sharp_px) == ("um", True, 0.6)
    dioptres = FocusGrid(np.linspace(0.3, 9.0, 40), "dioptres")
    known = Autofocus(LensCamera(grid=dioptres), grid="pixel3")._connected().grid
    assert known.blur_per_unit_px is not None
    assert known.blur_per_unit_px == pytest.approx(describe("pixel3").growth_at(dioptres.positions))


def test_a_camera_that_counts_otherwise_is_refused() -> None:
    with pytest.raises(InputError, match="pixel3 counts in dioptres: positions in um say nothing of it"):
        Autofocus(LensCamera(grid=FocusGrid(range(9), "um")), grid="pixel3").run()


@pytest.mark.parametrize("nearer", [True, False])
def test_a_whole_grid_says_what_the_driver_does_not(stack: FocalStack, nearer: bool) -> None:
    order = slice(None, None, 1 if nearer else -1)
    pixels = np.ascontiguousarray(stack.pixels[:, order])
    camera = ReplayCamera(FocalStack.full(pixels, FocusGrid(range(49))))
    told = FocusGrid(10.0 * np.arange(49), "um", CAMERA.grid.dioptres[order])
    result = Autofocus(camera, grid=told, risk=0.05).run()
    truth = TRUTH if nearer else 48 - TRUTH
    assert result.state is State.FOCUSED
    assert METHODS[result.method].build().is_network
    assert abs(result.index - truth) <= 1
    assert result.position == pytest.approx(10.0 * truth, abs=10)
    assert result.left_at == 10.0 * camera.visited[-1]
    assert result.dioptres == pytest.approx(CAMERA.grid.dioptres[TRUTH], abs=0.4)


def test_a_network_is_asked_about_a_camera_that_counts_from_near_to_far_as_about_its_mirror(
    stack: FocalStack,
) -> None:
    pixels = np.ascontiguousarray(stack.pixels[:, ::-1])
    turned = FocalStack.full(pixels, CAMERA.grid.turned(), stack.where)
    settings = {"method": "dioptre-any-dp", "risk": 0.05, "fallback": "none", "start": 12}
    one, other = (Autofocus(ReplayCamera(each), **settings).run() for each in (stack, turned))
    assert other.index == 48 - one.index
    assert other.subindex == pytest.approx(48 - one.subindex)
    assert other.looks == one.looks  # slices are counted as before: position 12 is index 36 here
    assert other.left_at == one.left_at
    assert (other.position, other.dioptres) == pytest.approx((one.position, one.dioptres))
    np.testing.assert_allclose(other.scores[::-1], one.scores)
    assert [step.index for step in other.trace] == [48 - step.index for step in one.trace]
    for mine, theirs in zip(one.trace, other.trace, strict=True):
        assert (mine.posterior is None) == (theirs.posterior is None)
        if mine.posterior is not None and theirs.posterior is not None:
            np.testing.assert_allclose(theirs.posterior[::-1], mine.posterior)
    assert other.verdict.candidates[0].index == 48 - one.verdict.candidates[0].index


def test_a_grid_of_another_length_is_refused(stack: FocalStack) -> None:
    with pytest.raises(InputError, match="the stack has 49 slices, but 48 positions are given"):
        Autofocus(ReplayCamera(stack), grid=FocusGrid(range(48))).run()


def test_settings_are_named() -> None:
    with pytest.raises(TypeError):
        Autofocus(LensCamera(), None, None, "laplacian-variance")  # type: ignore[misc]
