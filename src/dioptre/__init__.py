"""dioptre: learned autofocus. From what a camera sees at some lens positions, where the lens must go.

    import dioptre

    result = dioptre.focus("my_stack/")                      # or an array (slice, row, col)
    result.index, result.state, result.confidence, result.reasons
    dioptre.focus_from(frame, at=20).index                   # from one look, where the lens must go

Names are loaded on first use, so that importing the package is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from dioptre import evaluate as evaluate
    from dioptre.dataset.store import open_patches as open_patches
    from dioptre.loop.focus import focus as focus
    from dioptre.loop.focus import focus_from as focus_from
    from dioptre.loop.result import FocusResult as FocusResult
    from dioptre.methods import METHODS as METHODS
    from dioptre.methods import scores as scores
    from dioptre.optics import CameraModel as CameraModel
    from dioptre.optics import FocusGrid as FocusGrid
    from dioptre.stack import FocalStack as FocalStack

_HOMES = {
    "CameraModel": "dioptre.optics",
    "FocalStack": "dioptre.stack",
    "FocusGrid": "dioptre.optics",
    "FocusResult": "dioptre.loop.result",
    "METHODS": "dioptre.methods",
    "evaluate": "dioptre",
    "focus": "dioptre.loop.focus",
    "focus_from": "dioptre.loop.focus",
    "open_patches": "dioptre.dataset.store",
    "scores": "dioptre.methods",
}

__all__ = [
    "METHODS",
    "CameraModel",
    "FocalStack",
    "FocusGrid",
    "FocusResult",
    "evaluate",
    "focus",
    "focus_from",
    "open_patches",
    "scores",
]


def __getattr__(name: str) -> Any:
    """Returns a public name, importing its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dioptre' has no attribute {name!r}")
    if name == "evaluate":
        return importlib.import_module("dioptre.evaluate")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
