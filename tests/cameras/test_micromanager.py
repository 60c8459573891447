"""Micro-Manager: the real core with its demo devices, and Python devices that replay a known stack."""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cameras.contract import CameraContract

pytest.importorskip("pymmcore_plus", reason="pymmcore-plus is not installed")
pytest.importorskip(
    "mm_test_adapters", reason="Micro-Manager's demo devices (mm-test-adapters) are not installed"
)

import useq
from scipy.ndimage import gaussian_filter

from dioptre import Autofocus, FocusResult, State, focus
from dioptre.cameras.base import Camera, Lens, connect
from dioptre.cameras.micromanager import (
    MicroManagerCamera,
    MicroManagerSource,
    MicroManagerStage,
    open_device,
    open_lens,
    open_source,
)
from dioptre.cameras.micromanager_engine import AutofocusEngine
from dioptre.cameras.micromanager_replay import ReplayStage, replay_core
from dioptre.cameras.pair import PairedCamera
from dioptre.errors import CameraError, CameraTimeoutError, InputError, MissingExtraError

SHARP, SLICES = 23, 41
STEP_UM = 0.5


def recorded(sharp: int = SHARP) -> np.ndarray:
    """Returns a stack that is sharp at one slice and blurs to both sides."""
    scene = np.random.default_rng(1).random((96, 96))
    slices = [gaussian_filter(scene, np.hypot(1.2, 0.4 * (at - sharp))) for at in range(SLICES)]
    return np.array(slices, np.float32)


@pytest.fixture
def replayed() -> Iterator[MicroManagerCamera]:
    core = replay_core(recorded(), STEP_UM)
    core.setPosition((SLICES - 1) / 2 * STEP_UM)
    with MicroManagerCamera(core, way_um=(SLICES - 1) * STEP_UM, step_um=STEP_UM, owned=True) as camera:
        yield camera


class TestDemo(CameraContract):
    @pytest.fixture
    def camera(self) -> Iterator[MicroManagerCamera]:
        with open_device("demo?way=20&step=1&exposure=1") as camera:
            camera.core.setROI(100, 100, 96, 64)
            yield MicroManagerCamera(camera.core, way_um=20.0, step_um=1.0)

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, MicroManagerCamera)
        return camera.core.getPosition()

    def lens_at(self, camera: Camera) -> float | None:
        assert isinstance(camera, MicroManagerCamera)
        return camera.core.getPosition()


class TestReplayed(CameraContract):
    @pytest.fixture
    def camera(self, replayed: MicroManagerCamera) -> MicroManagerCamera:
        return replayed

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, MicroManagerCamera)
        return camera.core.getPosition()

    def lens_at(self, camera: Camera) -> float | None:
        assert isinstance(camera, MicroManagerCamera)
        return camera.core.getPosition()


def sweep(camera: MicroManagerCamera) -> FocusResult:
    """Focuses by a sweep, and leaves the lens there."""
    stack = np.stack([camera.capture(index)[0] for index in range(len(camera.grid))])
    result = focus(
        stack, method="laplacian-variance", grid=camera.grid
    )  # not misled by beads that brighten as they blur
    camera.capture(result.index)
    return result


# One focusing


def test_the_demo_finds_its_beads() -> None:
    with open_device("demo?exposure=1") as camera:
        assert (camera.shape, camera.grid.unit) == ((512, 512), "um")
        result = Autofocus(camera).run()
        assert result.state is not State.FAILED
        assert (result.position, result.left_at) == pytest.approx((0.0, 0.0), abs=1.0)
        assert result.unit == "um"
        assert camera.core.getPosition() == pytest.approx(0.0, abs=1.0)


def test_a_recorded_stack_is_replayed_slice_by_slice(replayed: MicroManagerCamera) -> None:
    truth = recorded()
    for index in (0, SHARP, SLICES - 1):
        np.testing.assert_allclose(replayed.capture(index)[0], truth[index], atol=1e-5)
    assert sweep(replayed).index == SHARP
    assert replayed.core.getPosition() == SHARP * STEP_UM


@pytest.mark.parametrize(("direction", "nearer"), [(0, None), (1, False), (-1, True)])
def test_positions_rise_and_the_focus_direction_says_which_end_is_far(
    direction: int, nearer: bool | None
) -> None:
    with open_device("demo?way=10&step=0.5") as camera:
        camera.core.setFocusDirection("Z", direction)
        known = MicroManagerCamera(camera.core, way_um=10.0, step_um=0.5)
        there = camera.core.getPosition()
        np.testing.assert_allclose(known.grid.positions, there + 0.5 * np.arange(-10, 11))
        assert (known.grid.unit, known.grid.nearer, known.grid.known) == ("um", nearer, False)
        far = connect(known).grid.positions[0]  # nearest to the sample
        assert far == pytest.approx(there + (5 if direction == 1 else -5))


@pytest.mark.parametrize("direction", [1, -1])
def test_settings_and_answers_are_in_um_whichever_way_is_far(
    direction: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = 0.002 * np.random.default_rng(2).random((SLICES, 96, 96), np.float32)
    core = replay_core(recorded() + noise, STEP_UM)  # else slices at both sides would be the very same
    monkeypatch.setattr(core, "getFocusDirection", lambda _: direction)
    core.setPosition((SLICES - 1) / 2 * STEP_UM)
    camera = MicroManagerCamera(core, way_um=(SLICES - 1) * STEP_UM, step_um=STEP_UM)
    result = Autofocus(camera, limits=(4.0, 16.0), start=5.2, backlash=1.0, risk=0.2).run()
    assert result.state is State.FOCUSED
    assert result.position == pytest.approx(SHARP * STEP_UM, abs=STEP_UM)
    assert core.getPosition() == pytest.approx(result.left_at)
    assert result.grid.positions[0] == 0.0  # rising, as the stage counts
    assert all(abs(step.position - STEP_UM * step.index) <= STEP_UM / 2 for step in result.trace)
    assert all(4.0 <= step.position <= 16.0 for step in result.trace)
    assert {"approach", "sweep"} <= {step.act.value for step in result.trace}


# Halves


class TestHalves(CameraContract):
    @pytest.fixture
    def camera(self) -> PairedCamera:
        self.core = replay_core(recorded(), STEP_UM)
        self.core.setPosition(10.0)
        stage = MicroManagerStage(self.core, way_um=20.0, step_um=1.0)
        return PairedCamera(MicroManagerSource(self.core), stage)

    def position_of(self, _camera: Camera) -> object:
        return self.core.getPosition()

    def lens_at(self, _camera: Camera) -> float | None:
        return self.core.getPosition()


def test_a_stage_alone_is_a_lens_for_any_camera() -> None:
    with open_lens("demo?way=20&step=1") as stage:
        assert isinstance(stage, Lens)
        assert (stage.unit, stage.position()) == ("um", pytest.approx(8.03, abs=0.02))
        assert stage.limits == pytest.approx((-1.97, 18.03), abs=0.02)
        camera = PairedCamera(lambda: np.full((8, 8), stage.position() / 20, np.float32), stage)
        assert camera.capture_at(12.34).mean() == pytest.approx(0.617, abs=1e-3)


def test_a_camera_alone_takes_pictures_for_any_lens() -> None:
    class Motor:
        limits, unit = (0, 10), "turns"

        def move(self, position: float) -> None:
            pass

    with open_source("demo?exposure=1") as source:
        before = source.core.getPosition()
        camera = PairedCamera(source, Motor())
        assert camera.capture(4).shape == (1, 512, 512)
        assert source.core.getPosition() == before


def test_a_half_is_all_that_a_configuration_needs(tmp_path: Path) -> None:
    (tmp_path / "empty.cfg").write_text("")
    with pytest.raises(CameraError, match="no focus stage in this configuration"):
        open_lens(str(tmp_path / "empty.cfg"))
    with pytest.raises(CameraError, match="no camera in this configuration"):
        open_source(str(tmp_path / "empty.cfg"))


# Faults


def test_a_stage_that_stops_short_is_found_out(
    replayed: MicroManagerCamera, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReplayStage, "set_position_um", lambda *_: None)
    with pytest.raises(CameraError, match="was sent to 0 um and stands 10 um off"):
        replayed.capture(0)


def test_a_stage_that_never_arrives_is_a_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    core = replay_core(recorded(), STEP_UM)
    camera = MicroManagerCamera(core, way_um=4.0, step_um=1.0, timeout_s=0.05)
    monkeypatch.setattr(core, "deviceBusy", lambda _: True)
    with pytest.raises(CameraTimeoutError, match=r"the move of Z to -2 um did not end in 0\.05 s"):
        camera.capture(0)
    monkeypatch.undo()
    assert camera.capture(0).shape == (1, 96, 96)


def test_abort_ends_a_move(replayed: MicroManagerCamera, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replayed.core, "deviceBusy", lambda _: True)
    stop = threading.Timer(0.05, replayed.abort)
    stop.start()
    begun = time.monotonic()
    with pytest.raises(CameraError, match="aborted"):
        replayed.capture(0)
    stop.join()
    assert time.monotonic() - begun < 5
    monkeypatch.undo()
    replayed.abort()  # nothing runs: nothing happens
    assert replayed.capture(0).shape == (1, 96, 96)


def test_a_camera_that_fails_is_one_sentence() -> None:
    with open_device("demo?exposure=1") as camera:
        camera.core.startContinuousSequenceAcquisition()
        with pytest.raises(CameraError, match=r"Micro-Manager: .*sequence"):
            camera.capture(0)
        camera.core.stopSequenceAcquisition()
        assert camera.capture(0).shape == (1, 512, 512)


def test_a_region_that_was_changed_is_found_out() -> None:
    with open_device("demo?exposure=1") as camera:
        camera.core.setROI(0, 0, 64, 32)
        with pytest.raises(CameraError, match=r"a frame of \(32, 64\), and before of \(512, 512\)"):
            camera.capture(0)


@pytest.mark.parametrize("address", ["", "nothing.cfg", "demo.cfg?way=3"])
def test_a_configuration_is_a_file(address: str) -> None:
    with pytest.raises(InputError, match="no Micro-Manager configuration"):
        open_device(address)


@pytest.mark.parametrize("query", ["way=x", "zoom=2", "way"])
def test_a_bad_setting_is_refused(query: str) -> None:
    with pytest.raises(InputError, match=r"CFG\?way=UM"):
        open_device(f"demo?{query}")


@pytest.mark.parametrize("query", ["way=0", "step=0", "step=-1", "way=inf", "way=nan", "step=1e-9"])
def test_a_stage_has_positions(query: str) -> None:
    with pytest.raises(InputError, match="a stage has 2 to"):
        open_device(f"demo?{query}")


def test_without_pymmcore_plus_it_is_said_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymmcore_plus", None)
    with pytest.raises(MissingExtraError, match=r"dioptre\[micromanager\]"):
        open_device("demo")


def test_white_is_more_than_black() -> None:
    with pytest.raises(InputError, match="white is more than black, 100 counts, not 50"):
        MicroManagerCamera(replay_core(recorded(), STEP_UM), black=100.0, white=50.0)


def test_a_broken_configuration_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bad.cfg").write_text("Device,Camera,NoSuchLibrary,Nothing\n")
    with pytest.raises(CameraError, match=r"Micro-Manager: .*NoSuchLibrary"):
        open_device(str(tmp_path / "bad.cfg"))
    (tmp_path / "empty.cfg").write_text("")
    with pytest.raises(CameraError, match="no focus stage"):
        open_device(str(tmp_path / "empty.cfg"))


# Within an acquisition


def plan(**changes: object) -> useq.MDASequence:
    settings = {
        "axis_order": "tpcz",
        "stage_positions": [(0.0, 0.0, 8.0), (100.0, 0.0, 9.0)],
        "z_plan": {"range": 2.0, "step": 1.0},
        "autofocus_plan": {"axes": ("p",)},
        **changes,
    }
    return useq.MDASequence.model_validate(settings)


def run(core: Any, engine: AutofocusEngine, sequence: useq.MDASequence) -> list[tuple[dict[str, int], float]]:
    """Runs an acquisition; returns where each of its images was taken."""
    taken: list[tuple[dict[str, int], float]] = []
    core.mda.set_engine(engine)
    core.mda.events.frameReady.connect(lambda _, event: taken.append((dict(event.index), core.getPosition())))
    core.mda.run(sequence)
    return taken


def test_each_position_is_focused_once_and_its_slices_lie_around_what_was_found() -> None:
    core = replay_core(recorded(), STEP_UM)
    engine = AutofocusEngine(core, sweep, way_um=10.0, step_um=STEP_UM, use_hardware_sequencing=False)
    taken = run(core, engine, plan())
    assert [record.index["p"] for record in engine.records] == [0, 1]
    assert [result.state for result in engine.results] == [State.FOCUSED] * 2
    assert [record.after_um for record in engine.records] == [SHARP * STEP_UM] * 2
    assert [z for _, z in taken] == [SHARP * STEP_UM + off for off in (-1, 0, 1)] * 2


def test_autofocus_itself_can_be_what_focuses() -> None:
    core = replay_core(recorded(), STEP_UM)
    engine = AutofocusEngine(
        core, lambda one: Autofocus(one).run(), way_um=12.0, step_um=STEP_UM, use_hardware_sequencing=False
    )
    run(core, engine, plan())
    assert [record.after_um for record in engine.records] == pytest.approx([SHARP * STEP_UM] * 2, abs=STEP_UM)
    assert all(result.trace for result in engine.results)


def test_it_is_done_once_a_position_and_time_also_where_channels_come_first() -> None:
    core = replay_core(recorded(), STEP_UM)
    engine = AutofocusEngine(core, sweep, way_um=8.0, step_um=STEP_UM, use_hardware_sequencing=False)
    channels = [{"config": name, "group": "Channel"} for name in ("DAPI", "FITC")]
    times = {"interval": 0.0, "loops": 2}
    taken = run(core, engine, plan(axis_order="tcpz", channels=channels, time_plan=times))
    assert [(record.index["t"], record.index["p"]) for record in engine.records] == [
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    ]
    assert len(taken) == 2 * 2 * 2 * 3
    assert {z for _, z in taken} == {SHARP * STEP_UM + off for off in (-1, 0, 1)}


def test_an_uncertain_answer_is_taken_at_once_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    def doubtful(camera: MicroManagerCamera) -> FocusResult:
        found = sweep(camera)
        return replace(found, verdict=replace(found.verdict, state=State.UNCERTAIN))

    core = replay_core(recorded(), STEP_UM)
    engine = AutofocusEngine(core, doubtful, way_um=10.0, step_um=STEP_UM, use_hardware_sequencing=False)
    with caplog.at_level("WARNING", "pymmcore-plus"):
        taken = run(core, engine, plan(stage_positions=[(0.0, 0.0, 8.0)]))
    ((error, after_um),) = [(record.error, record.after_um) for record in engine.records]
    assert (error, after_um) == ("", SHARP * STEP_UM)
    assert [z for _, z in taken] == [SHARP * STEP_UM + off for off in (-1, 0, 1)]
    (told,) = [one.getMessage() for one in caplog.records if "uncertain" in one.getMessage()]
    assert "FocusResult(uncertain" in told


def test_a_failure_is_tried_again_told_and_leaves_the_stage_where_it_was(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flat = np.full((SLICES, 64, 64), 0.5, np.float32)
    core = replay_core(flat, STEP_UM)
    engine = AutofocusEngine(core, sweep, way_um=4.0, step_um=STEP_UM, use_hardware_sequencing=False)
    taken = run(core, engine, plan(stage_positions=[(0.0, 0.0, 8.0)]))
    assert [(record.error != "", record.after_um) for record in engine.records] == [(True, 8.0)] * 3
    assert [result.state for result in engine.results] == [State.FAILED] * 3
    assert [z for _, z in taken] == [7.0, 8.0, 9.0]


def test_hardware_that_fails_does_not_end_the_acquisition() -> None:
    def broken(camera: MicroManagerCamera) -> FocusResult:
        raise CameraError("the shutter is stuck")

    core = replay_core(recorded(), STEP_UM)
    engine = AutofocusEngine(core, broken, use_hardware_sequencing=False)
    taken = run(core, engine, plan())
    assert [record.error for record in engine.records] == ["the shutter is stuck"] * 6
    assert engine.results == []
    assert len(taken) == 6


def test_the_engines_convention_is_a_runtime_error() -> None:
    core = replay_core(np.full((SLICES, 64, 64), 0.5, np.float32), STEP_UM)
    engine = AutofocusEngine(core, sweep, way_um=4.0, step_um=STEP_UM)
    with pytest.raises(RuntimeError, match="focus was not found"):
        engine._execute_autofocus(useq.HardwareAutofocus(max_retries=1))


def test_it_works_with_the_real_core_too() -> None:
    with open_device("demo?exposure=1") as camera:
        core = camera.core
        core.setProperty("Camera", "BeadBlurRate", "0.5")
        engine = AutofocusEngine(core, sweep, way_um=40.0, step_um=1.0)
        taken = run(core, engine, plan(channels=["DAPI", "FITC"]))
        assert [record.index["p"] for record in engine.records] == [0, 1]
        assert [record.after_um for record in engine.records] == pytest.approx([0.0, 0.0], abs=1.0)
        assert len(taken) == 2 * 2 * 3


def test_slices_are_apart() -> None:
    with pytest.raises(InputError, match="positive number of um apart, not 0"):
        replay_core(recorded(), 0.0)
