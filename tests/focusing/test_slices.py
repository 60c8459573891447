"""How much memory slices take while they are decoded and measured, and how many are at a time."""

from pathlib import Path
from threading import Lock
from time import sleep

import cv2
import numpy as np
import pytest

from dioptre.errors import InputError
from dioptre.focusing.slices import DECODED_COLOURS, WORK_BYTES, Slices, stream, to_slices
from dioptre.resources import LIMIT, THREADS
from dioptre.stacks.pictures import Window

ROWS, COLS, N = 400, 500, 12
PIXELS = ROWS * COLS


@pytest.fixture
def slices(tmp_path: Path) -> Slices:
    for at in range(N):
        cv2.imwrite(str(tmp_path / f"f{at}.jpg"), np.full((ROWS, COLS), at, np.uint8))
    return to_slices(tmp_path, None, None)


def most_at_a_time(slices: Slices, window: Window) -> int:
    lock, now, most = Lock(), [0], [0]

    def work(run: range, codes: object) -> int:
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        sleep(0.02)
        with lock:
            now[0] -= 1
        return run[0]

    found = list(stream(slices, [range(at, at + 1) for at in range(N)], window, work))
    assert found == list(range(N))
    return most[0]


def test_a_slice_counts_with_what_decoding_and_measuring_take(slices: Slices) -> None:
    whole = slices.bytes_in_work(slices.pictures.whole)
    assert whole == (DECODED_COLOURS + WORK_BYTES) * PIXELS
    assert slices.bytes_in_work(Window(0, 0, 10, 10)) == DECODED_COLOURS * PIXELS + WORK_BYTES * 100
    array = to_slices(np.zeros((3, 2, 20, 30), np.uint16), None, None)
    assert array.bytes_in_work(array.pictures.whole) == 2 * WORK_BYTES * 600  # is in memory anyway


def test_no_more_slices_are_measured_at_a_time_than_memory_is_for(
    slices: Slices, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(THREADS, "4")
    whole = slices.pictures.whole
    monkeypatch.setenv(LIMIT, str(100 * slices.bytes_in_work(whole) / 1e9))
    assert most_at_a_time(slices, whole) > 2
    monkeypatch.setenv(LIMIT, str(2.5 * slices.bytes_in_work(whole) / 1e9))
    assert most_at_a_time(slices, whole) <= 2
    monkeypatch.setenv(LIMIT, str(0.9 * slices.bytes_in_work(whole) / 1e9))
    with pytest.raises(InputError, match=r"a slice of .* would take .* GB of memory"):
        most_at_a_time(slices, whole)
