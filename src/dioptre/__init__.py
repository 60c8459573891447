"""dioptre: learned autofocus. From what a camera sees at some lens positions, where the lens must go.

    import dioptre

    result = dioptre.focus("my_stack/")                      # or an array (slice, row, col)
    result.index, result.state, result.confidence, result.reasons
    dioptre.focus_from(frame, at=20).index                   # from one look, where the lens must go
    dioptre.Autofocus(camera).run()                          # a lens, by the search that is evaluated

Names are loaded on first use, so that importing the package is fast.
"""

import importlib
from typing import TYPE_CHECKING, Any

from dioptre.resources import limit_opencv

__version__ = "0.2.0.dev0"

if TYPE_CHECKING:
    from dioptre.autofocus.autofocus import Autofocus as Autofocus
    from dioptre.cameras.base import Camera as Camera
    from dioptre.cameras.base import Lens as Lens
    from dioptre.cameras.devices import open_device as open_device
    from dioptre.confidence.reasons import Reason as Reason
    from dioptre.confidence.reasons import State as State
    from dioptre.errors import ArchiveError as ArchiveError
    from dioptre.errors import CameraError as CameraError
    from dioptre.errors import CameraTimeoutError as CameraTimeoutError
    from dioptre.errors import CaptureFileError as CaptureFileError
    from dioptre.errors import DioptreError as DioptreError
    from dioptre.errors import FileError as FileError
    from dioptre.errors import InputError as InputError
    from dioptre.errors import MapFileError as MapFileError
    from dioptre.errors import MethodError as MethodError
    from dioptre.errors import MissingExtraError as MissingExtraError
    from dioptre.errors import NetworkError as NetworkError
    from dioptre.errors import StackFileError as StackFileError
    from dioptre.focusing.focus import focus as focus
    from dioptre.focusing.focus import focus_from as focus_from
    from dioptre.focusing.focus_map import focus_map as focus_map
    from dioptre.focusing.result import FocusResult as FocusResult
    from dioptre.focusing.result import Roi as Roi
    from dioptre.focusing.trace import Step as Step
    from dioptre.grid import FocusGrid as FocusGrid
    from dioptre.methods import METHODS as METHODS
    from dioptre.methods import scores as scores
    from dioptre.methods.base import Method as Method
    from dioptre.optics import CameraModel as CameraModel
    from dioptre.posterior import DepthPrior as DepthPrior
    from dioptre.problem import Problem as Problem
    from dioptre.stack import FocalStack as FocalStack
    from dioptre.store.patches import PatchStore as PatchStore
    from dioptre.store.patches import open_patches as open_patches

_HOMES = {
    "METHODS": "dioptre.methods",
    "ArchiveError": "dioptre.errors",
    "Autofocus": "dioptre.autofocus.autofocus",
    "Camera": "dioptre.cameras.base",
    "CameraError": "dioptre.errors",
    "CameraModel": "dioptre.optics",
    "CameraTimeoutError": "dioptre.errors",
    "CaptureFileError": "dioptre.errors",
    "DepthPrior": "dioptre.posterior",
    "DioptreError": "dioptre.errors",
    "FileError": "dioptre.errors",
    "FocalStack": "dioptre.stack",
    "FocusGrid": "dioptre.grid",
    "FocusResult": "dioptre.focusing.result",
    "InputError": "dioptre.errors",
    "Lens": "dioptre.cameras.base",
    "MapFileError": "dioptre.errors",
    "Method": "dioptre.methods.base",
    "MethodError": "dioptre.errors",
    "MissingExtraError": "dioptre.errors",
    "NetworkError": "dioptre.errors",
    "PatchStore": "dioptre.store.patches",
    "Problem": "dioptre.problem",
    "Reason": "dioptre.confidence.reasons",
    "Roi": "dioptre.focusing.result",
    "StackFileError": "dioptre.errors",
    "State": "dioptre.confidence.reasons",
    "Step": "dioptre.focusing.trace",
    "focus": "dioptre.focusing.focus",
    "focus_from": "dioptre.focusing.focus",
    "focus_map": "dioptre.focusing.focus_map",
    "open_device": "dioptre.cameras.devices",
    "open_patches": "dioptre.store.patches",
    "scores": "dioptre.methods",
}

__all__ = [
    "METHODS",
    "ArchiveError",
    "Autofocus",
    "Camera",
    "CameraError",
    "CameraModel",
    "CameraTimeoutError",
    "CaptureFileError",
    "DepthPrior",
    "DioptreError",
    "FileError",
    "FocalStack",
    "FocusGrid",
    "FocusResult",
    "InputError",
    "Lens",
    "MapFileError",
    "Method",
    "MethodError",
    "MissingExtraError",
    "NetworkError",
    "PatchStore",
    "Problem",
    "Reason",
    "Roi",
    "StackFileError",
    "State",
    "Step",
    "focus",
    "focus_from",
    "focus_map",
    "open_device",
    "open_patches",
    "scores",
]


limit_opencv()  # before any part of dioptre imports it


def __getattr__(name: str) -> Any:
    """Returns a public name, importing its home on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dioptre' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
