"""How kernels are compiled: by numba, on first use, cached on disk, without the GIL.

A cache that is damaged (a crash, a full disk) is as good as none: kernels are compiled anew, and it is
written again if that can be.
"""

import inspect
from collections.abc import Callable
from contextlib import suppress
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
        compiled = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # no writable place beside the package or in the user's cache
        return njit(**_OPTIONS)(function)
    if hasattr(compiled, "_cache"):  # not where numba is told not to compile
        compiled._cache = ForgivingCache(compiled._cache)
    return compiled


class ForgivingCache:
    """A kernel's cache that is rebuilt where it cannot be read, and done without where it cannot be written.

    Args:
        cache: Numba's own.
    """

    def __init__(self, cache: Any) -> None:
        self._cache = cache

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cache, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Returns a compiled kernel, or None if there is none, or a damaged one, which is forgotten."""
        try:
            return self._cache.load_overload(signature, context)
        except Exception:  # a damaged pickle raises nearly anything
            with suppress(OSError):
                self._cache.flush()
            return None

    def save_overload(self, signature: Any, data: Any) -> None:
        """Keeps a compiled kernel, if it can be kept."""
        try:
            self._cache.save_overload(signature, data)
        except Exception:  # a full disk, or an index that is damaged
            with suppress(OSError):
                self._cache.flush()
