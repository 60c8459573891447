"""How kernels are compiled: by numba, on first use, cached on disk, without the GIL."""

import inspect
from collections.abc import Callable
from typing import Any

from numba import njit

# Reassociation lets sums use all lanes; NaN and signed infinity keep their meaning.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "fastmath": {"reassoc", "contract", "nsz"},
    "error_model": "numpy",
}


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function compiled on first use and cached on disk, or uncached where that is impossible."""
    function = inspect.unwrap(function)  # the tests' type checker wraps what it imports
    try:
        return njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no writable place beside the package or in the user's cache
        return njit(**_OPTIONS)(function)
