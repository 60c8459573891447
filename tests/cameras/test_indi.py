"""INDI: the real server and its simulators from end to end, and a fake one for faults that these have not."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from dioptre import Autofocus, State, focus
from dioptre.cameras.base import Camera, Lens, OpenedCamera, connect
from dioptre.cameras.devices import open_pair
from dioptre.cameras.indi import IndiCamera, open_device, open_lens, open_source
from dioptre.cameras.indi_ccd import to_green
from dioptre.cameras.indi_messages import MessageParser
from dioptre.cameras.pair import PairedCamera
from dioptre.errors import CameraError, CameraTimeoutError, InputError
from dioptre.grid import FocusGrid
from lab.devices.indi_simulators import BEST, CCD, FOCUSER, missing, running
from tests.cameras.contract import CameraContract
from tests.cameras.fake_indi import COLS, HIGHEST, ROWS, FakeIndi

WHITE = 65535
NEEDS = pytest.mark.skipif(bool(missing()), reason="Debian's indi-bin is not installed (make indi)")
STEP = 2_500.0  # of a sweep through the simulator's focus
STOPS = {"move": "FOCUS_ABORT_MOTION", "exposure": "CCD_ABORT_EXPOSURE"}
QUICK_S = 0.3  # seconds after which a fake that is silent is given up


def opened(server: FakeIndi, **settings: object) -> IndiCamera:
    usual = {"exposure_s": 0.01, "timeout_s": QUICK_S, "positions": np.arange(0.0, HIGHEST + 1, 100)}
    return IndiCamera("localhost", server.port, "Eye", "Motor", **{**usual, **settings})  # type: ignore[arg-type]


class Lines:
    """A lens of somebody else."""

    limits, unit = (0, 10), "lines"

    def move(self, position: float) -> None:
        pass


def position_in(frame: np.ndarray) -> float:
    """Returns where the fake took a frame: that is what its pixels are."""
    return round(float(frame.mean()) * WHITE)


class TestFakeIndi(CameraContract):
    @pytest.fixture
    def camera(self) -> Iterator[IndiCamera]:
        with FakeIndi() as server, opened(server) as camera:
            yield camera

    def position_of(self, camera: Camera) -> object:
        assert isinstance(camera, IndiCamera)
        return camera._client.vector("Motor", "ABS_FOCUS_POSITION").number("FOCUS_ABSOLUTE_POSITION")

    def lens_at(self, camera: Camera) -> float | None:
        return float(str(self.position_of(camera)))


# What is sent and what comes


def test_an_index_is_a_position_and_a_frame_is_of_there() -> None:
    with FakeIndi() as server, opened(server) as camera:
        assert (camera.shape, camera.views, camera.where) == ((ROWS, COLS), 1, None)
        assert camera.grid == FocusGrid(range(0, HIGHEST + 1, 100), "steps")
        assert camera.grid.nearer is None
        for index in (3, 7, 3):
            assert position_in(camera.capture(index)) == 100 * index
            assert camera.header["FOCUSPOS"] == 100 * index
        assert server.moves == [300, 700, 300]


def test_between_positions_it_goes_to_the_nearest_whole_step() -> None:
    with FakeIndi() as server, opened(server) as camera:
        assert position_in(camera.capture_at(366.6)) == 367
        assert server.moves == [367]


def test_names_may_be_left_out_where_there_is_one_of_each() -> None:
    with FakeIndi() as server, open_device(f"localhost:{server.port}?exposure=0.02") as camera:
        assert (camera.ccd.name, camera.focuser.name) == ("Eye", "Motor")
        assert len(camera.grid) == HIGHEST + 1
        assert position_in(camera.capture(HIGHEST)) == HIGHEST


def test_positions_may_fall() -> None:
    with FakeIndi() as server, opened(server, positions=[800, 500, 200]) as camera:
        assert camera.grid.positions.tolist() == [800, 500, 200]
        assert position_in(camera.capture(0)) == 800


def test_black_and_white_are_the_users() -> None:
    with FakeIndi() as server, opened(server, black=100.0, white=900.0) as camera:
        assert camera.capture(0).max() == 0
        assert camera.capture(5).max() == pytest.approx(0.5)
        assert camera.capture(10).min() == 1


def test_packed_pictures_are_unpacked() -> None:
    with FakeIndi(packed=True) as server, opened(server) as camera:
        assert position_in(camera.capture(4)) == 400


def test_of_a_mosaic_green_is_the_mean_of_two() -> None:
    mosaic = np.array([[1, 2, 5, 6], [3, 4, 7, 8]], np.float32)
    assert to_green({"BAYERPAT": "RGGB"}, mosaic).tolist() == [[2.5, 6.5]]
    assert to_green({"BAYERPAT": "BGGR"}, mosaic).tolist() == [[2.5, 6.5]]
    assert to_green({"BAYERPAT": "GRBG"}, mosaic).tolist() == [[2.5, 6.5]]
    assert to_green({"BAYERPAT": "GBRG"}, 10 * mosaic[:, :3]).tolist() == [[25]]
    assert to_green({}, mosaic).tolist() == mosaic.tolist()
    assert to_green({}, np.stack([mosaic, 2 * mosaic, 3 * mosaic])).tolist() == (2 * mosaic).tolist()


# Halves


class TestFakeHalves(CameraContract):
    @pytest.fixture
    def camera(self) -> Iterator[OpenedCamera]:
        with FakeIndi() as self.server:
            address = f"indi:localhost:{self.server.port}"
            with open_pair(f"{address}/Eye?exposure=0.01", f"{address}//Motor") as camera:
                yield camera

    def position_of(self, _camera: Camera) -> object:
        return self.server.position

    def lens_at(self, _camera: Camera) -> float | None:
        return self.server.position


def test_a_focuser_alone_is_a_lens_for_any_camera() -> None:
    with FakeIndi() as server, open_lens(f"localhost:{server.port}") as focuser:
        assert isinstance(focuser, Lens)
        assert (focuser.name, focuser.limits, focuser.unit, focuser.step) == (
            "Motor",
            (0, HIGHEST),
            "steps",
            1,
        )
        camera = PairedCamera(lambda: np.full((8, 8), focuser.position() / HIGHEST, np.float32), focuser)
        assert camera.capture_at(366.6).mean() == pytest.approx(0.367)
        assert server.moves == [367]
        assert "CCD_EXPOSURE" not in server.heard


def test_a_camera_alone_takes_pictures_for_any_lens() -> None:
    with FakeIndi() as server, open_source(f"localhost:{server.port}/Eye?exposure=0.01") as ccd:
        camera = PairedCamera(ccd, Lines())
        server.position = 300.0
        assert position_in(camera.capture(5)) == 300
        assert (server.moves, ccd.header["FOCUSPOS"]) == ([], 300)
        assert "ABS_FOCUS_POSITION" not in server.heard


@pytest.mark.parametrize("what", ["move", "exposure"])
def test_a_half_survives_a_server_that_hangs_up(what: str) -> None:
    with FakeIndi() as server:
        address = f"indi:localhost:{server.port}"
        with open_pair(f"{address}/Eye?exposure=0.01", f"{address}//Motor") as camera:
            server.hang_up.add(what)
            assert position_in(camera.capture_at(400)) == 400


def test_a_focuser_that_does_not_tell_its_way_is_said() -> None:
    silent = {f"max='{HIGHEST}'": "max='0'"}
    with (
        FakeIndi(instead=silent) as server,
        open_lens(f"localhost:{server.port}") as focuser,
        pytest.raises(CameraError, match="Motor does not tell how far it can go"),
    ):
        PairedCamera(lambda: np.zeros((8, 8), np.uint8), focuser)


def test_a_half_that_is_not_there_is_said() -> None:
    with FakeIndi() as server:
        with pytest.raises(CameraError, match="has no device 'Lamp': there is Eye"):
            open_source(f"localhost:{server.port}/Lamp")
        with pytest.raises(CameraError, match="has no device 'Lamp': there is Motor"):
            open_lens(f"localhost:{server.port}//Lamp")


# Frames from elsewhere


def test_a_frame_from_elsewhere_is_dropped_and_exposed_again() -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.stale, before = 2, server.exposures
        assert position_in(camera.capture(5)) == 500
        assert server.exposures == before + 3


def test_a_late_frame_of_before_is_dropped_and_ours_waited_for() -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.late, before = True, server.exposures
        assert position_in(camera.capture(5)) == 500
        assert server.exposures == before + 1


def test_a_camera_that_sends_only_frames_from_elsewhere_is_given_up() -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.stale = 99
        with pytest.raises(CameraError, match="taken at 600, not at 500"):
            camera.capture(5)
        server.stale = 0
        assert position_in(camera.capture(5)) == 500


def test_a_driver_that_does_not_say_where_is_believed() -> None:
    with FakeIndi(card=False) as server, opened(server) as camera:
        assert position_in(camera.capture(5)) == 500


# Faults


def test_a_refused_position_is_told_with_the_drivers_words_and_the_next_works() -> None:
    with FakeIndi(alert=600) as server, opened(server) as camera:
        with pytest.raises(CameraError, match="Motor refused position 900: cannot go so far"):
            camera.capture(9)
        assert position_in(camera.capture(6)) == 600


@pytest.mark.parametrize("what", ["move", "exposure"])
def test_a_device_that_does_not_answer_is_a_timeout_and_may_be_tried_again(what: str) -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.mute.add(what)
        with pytest.raises(CameraTimeoutError, match=r"did not happen in 0\.3"):
            camera.capture(5)
        server.mute.clear()
        assert position_in(camera.capture(5)) == 500
        assert STOPS[what] in server.heard


@pytest.mark.parametrize("what", ["move", "exposure"])
def test_a_connection_that_is_cut_is_made_again(what: str) -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.hang_up.add(what)
        assert position_in(camera.capture(5)) == 500


@pytest.mark.parametrize("what", ["move", "exposure"])
def test_abort_ends_a_running_capture(what: str) -> None:
    with FakeIndi() as server, opened(server, timeout_s=20.0) as camera:
        server.mute.add(what)
        stop = threading.Timer(0.1, camera.abort)
        stop.start()
        begun = time.monotonic()
        with pytest.raises(CameraError, match="aborted"):
            camera.capture(5)
        stop.join()
        assert time.monotonic() - begun < 5
        server.mute.clear()
        camera.abort()  # nothing runs: nothing happens
        assert position_in(camera.capture(5)) == 500
        assert STOPS[what] in server.heard


def test_a_picture_of_another_size_is_refused() -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.cards = {"BAYERPAT": "RGGB"}
        with pytest.raises(CameraError, match=r"a frame of \(4, 6\), and before of \(8, 12\)"):
            camera.capture(5)


@pytest.mark.parametrize(
    ("usual", "other", "said"),
    [
        (f"{COLS}</defNumber>", "inf</defNumber>", "pixels"),
        (f"{COLS}</defNumber>", "1e300</defNumber>", "pixels"),
        (">16<", ">1e9<", "tells no white"),
        (">16<", ">nan<", "tells no white"),
    ],
)
def test_numbers_that_cannot_be_are_one_sentence(usual: str, other: str, said: str) -> None:
    with FakeIndi(instead={usual: other}) as server, pytest.raises(CameraError, match=said):  # noqa: SIM117
        with opened(server) as camera:
            camera.capture(1)


@pytest.mark.parametrize("highest", ["inf", "nan"])
def test_a_focuser_that_goes_anywhere_must_be_told_where(highest: str) -> None:
    with FakeIndi(instead={f"max='{HIGHEST}'": f"max='{highest}'"}) as server:  # noqa: SIM117
        with pytest.raises(CameraError, match="how far it can go"):
            opened(server, positions=None)


def test_a_driver_that_calls_itself_a_kind_of_many_digits_is_none() -> None:
    with FakeIndi(instead={"'DRIVER_INTERFACE'>8<": f"'DRIVER_INTERFACE'>{'8' * 5000}<"}) as server:  # noqa: SIM117
        with pytest.raises(CameraError, match="has no focuser"):
            IndiCamera("localhost", server.port, "Eye", timeout_s=QUICK_S)


def test_a_message_may_not_grow_by_members_without_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIOPTRE_MAX_GIGABYTES", "0.001")
    parser = MessageParser()
    with pytest.raises(CameraError, match="memory"):
        parser.feed(b"<defNumberVector>" + b"<defNumber name='a'/>" * 2000)


def test_what_is_not_xml_is_one_sentence() -> None:
    with FakeIndi() as server, opened(server) as camera:
        server.cards = {"X": 1}
        camera._client._parser.feed(b"<message>")
        with pytest.raises(CameraError, match="not INDI's XML"):
            camera._client._parser.feed(b"<!DOCTYPE a [<!ENTITY b 'c'>]>")


# Addresses and settings


@pytest.mark.parametrize(
    "address", ["h:x/a/b", "h:0/a/b", "h:70000", "h:1/a/b?exposure=x", "h:1/a/b?gain=2", "h:1?exposure"]
)
def test_a_bad_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match="HOST:PORT/CCD/FOCUSER"):
        open_device(address)


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf"])
def test_an_exposure_is_a_positive_number(seconds: str) -> None:
    with pytest.raises(InputError, match="positive number of seconds"):
        open_device(f"localhost:1/a/b?exposure={seconds}")


def test_a_server_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(CameraError, match=r"INDI server localhost:1 cannot be reached"):
        open_device("localhost:1/a/b")


@pytest.mark.parametrize(
    ("positions", "sentence"),
    [
        ([], "a list of positions, not an array of shape"),
        ([0, 0], "rise or fall .* index 0 has 0 and index 1 has 0"),
        ([0, 2, 1], "rise or fall .* index 1 has 2 and index 2 has 1"),
        ([0, np.nan], "finite, not nan"),
    ],
)
def test_positions_rise_or_fall(positions: list[float], sentence: str) -> None:
    with FakeIndi() as server, pytest.raises(InputError, match=sentence):
        opened(server, positions=np.array(positions, dtype=np.float64))


def test_positions_are_where_the_focuser_can_go() -> None:
    with (
        FakeIndi() as server,
        pytest.raises(InputError, match="Motor goes from 0 to 1000 steps, not to 0 or 1001"),
    ):
        opened(server, positions=[0.0, HIGHEST + 1.0])


def test_a_wrong_name_is_told_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dioptre.cameras.indi_devices.QUIET_S", 0.1)
    with FakeIndi() as server, pytest.raises(CameraError, match="no device 'Ear': there is Eye"):
        IndiCamera("localhost", server.port, "Ear", "Motor")


# The real server


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with running(tmp_path_factory.mktemp("indi")) as (port, _):
        yield port


@pytest.fixture
def camera(port: int) -> Iterator[IndiCamera]:
    with IndiCamera("localhost", port, CCD, FOCUSER, timeout_s=10.0) as camera:
        yield camera


@NEEDS
def test_frames_of_the_real_server_prove_where_they_were_taken(camera: IndiCamera) -> None:
    assert camera.shape == (1024, 1280)
    assert camera.grid.positions[[0, 1, -1]].tolist() == [0, 100, 100_000]
    assert (camera.grid.unit, camera.grid.nearer) == ("steps", None)
    frames = {}
    for index in (0, 367, 1000, 367):
        frames[index] = camera.capture(index)
        assert camera.header["FOCUSPOS"] == 100 * index
    assert frames[367].max() > 5 * frames[0].max() > 5 * frames[1000].max()


@NEEDS
def test_a_sweep_finds_the_simulators_best_focus(port: int) -> None:
    positions = np.arange(20_000.0, 55_001, STEP)
    region = 384, 312, 512, 400
    with IndiCamera("localhost", port, CCD, FOCUSER, positions=positions, region=region) as camera:
        stack = np.stack([camera.capture(index)[0] for index in range(len(positions))])
        result = focus(stack, grid=camera.grid)
    assert result.state is State.FOCUSED
    assert result.unit == "steps"
    assert result.position == pytest.approx(BEST, abs=STEP / 5)


@NEEDS
def test_halves_of_the_simulators_are_one_camera(port: int) -> None:
    address = f"indi:localhost:{port}"
    with open_pair(f"{address}/{CCD}?exposure=0.5", f"{address}//{FOCUSER}") as camera:
        assert (len(camera.grid), camera.grid.unit) == (1001, "steps")
        sharp, blurred = (connect(camera).capture_at(at) for at in (BEST, BEST + 20_321.4))
        assert sharp.max() > 2 * blurred.max()


@NEEDS
@pytest.mark.parametrize("start", [4_000, 96_000])
def test_autofocus_finds_it_from_either_end(port: int, start: int) -> None:
    with IndiCamera("localhost", port, CCD, FOCUSER, region=(384, 312, 512, 400)) as camera:
        result = Autofocus(camera, start=start, limits=(2_000, 99_900)).run()
        assert result.state is State.FOCUSED
        assert result.unit == "steps"
        assert result.position == pytest.approx(
            BEST, abs=2500
        )  # where stars are as small to 0.15 of 3.5 arc seconds
        assert len(result.trace) <= 16
        assert all(2_000 <= step.position <= 99_900 for step in result.trace)
        assert result.trace[0].position == 100 * result.trace[0].index
        assert result.left_at == pytest.approx(result.position, abs=100)
        assert camera.header["FOCUSPOS"] == result.left_at  # and it was left there


@NEEDS
def test_a_region_is_a_part_of_the_sensor(port: int) -> None:
    with IndiCamera("localhost", port, CCD, FOCUSER, region=(320, 256, 256, 200), timeout_s=10.0) as part:
        assert part.shape == (200, 256)
        assert part.where == pytest.approx((2 * 448 / 1280 - 1, 2 * 356 / 1024 - 1))
        assert part.capture(1).shape == (1, 200, 256)
    with IndiCamera("localhost", port, CCD, FOCUSER, timeout_s=10.0) as whole:
        assert whole.shape == (1024, 1280)
    with pytest.raises(CameraError, match=r"1280 x 1024 pixels, not the region \(0, 0, 2000, 9\)"):
        IndiCamera("localhost", port, CCD, FOCUSER, region=(0, 0, 2000, 9), timeout_s=10.0)


@NEEDS
def test_a_crash_of_the_driver_is_survived(camera: IndiCamera) -> None:
    camera.capture(300)
    camera._client.set(CCD, "CCD_SIMULATE_CRASH", {"CRASH": "On"})
    frame = camera.capture(367)
    assert frame.shape == (1, *camera.shape)
    assert camera.header["FOCUSPOS"] == BEST


@NEEDS
def test_a_position_out_of_range_is_refused_by_the_real_driver(camera: IndiCamera) -> None:
    with pytest.raises(CameraError, match="refused position 200000"):
        camera.focuser.go(200_000.0)
    camera.capture(367)


@NEEDS
def test_without_stars_the_frame_is_dark_and_a_server_that_dies_is_one_sentence(tmp_path: Path) -> None:
    with (
        running(tmp_path, stars=False) as (port, server),
        IndiCamera("localhost", port, CCD, FOCUSER, region=(384, 312, 512, 400), timeout_s=10.0) as camera,
    ):
        assert camera.capture(367).max() < 0.01
        result = Autofocus(camera, start=50_000).run()
        assert result.state is State.FAILED
        assert result.left_at == 50_000  # back where it began
        server.terminate()
        with pytest.raises(CameraError, match=r"INDI server .* (cannot be reached|is gone)"):
            camera.capture(367)
