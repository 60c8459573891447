"""Which tests are slow: they run in `make test-all` and `.ci/run`, and not in `make test`."""

from collections.abc import Iterable
from typing import Any

import pytest

slow = pytest.mark.slow


def slow_but(quick: Iterable[Any], every: Iterable[Any]) -> list[Any]:
    """Returns values for tests; all but those that are told are slow."""
    quick = list(quick)
    return [one if one in quick else pytest.param(one, marks=slow) for one in every]
