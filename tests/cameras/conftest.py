"""What holds for every camera: no thread is left running."""

import threading
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert [
        one.name for one in left if not one.name.startswith("dioptre_")
    ] == []  # the methods' own pool stays
