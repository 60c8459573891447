"""Is what lies in a folder, or a file, what was written? Everything is read once.

Stores, runs, predictions, reports, maps and wide pictures have hashes in their manifests. A network has none
of its own: it is loaded, its card is read, and it is asked once. A calibration or a camera is read.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from dioptre.errors import DioptreError, FileError, NetworkError
from dioptre.grid import FocusGrid
from dioptre.methods.base import ANY, WHOLE
from dioptre.methods.calibration import SUFFIX as CALIBRATION
from dioptre.methods.calibration import Calibration
from dioptre.methods.depth_network import KIND as DEPTH
from dioptre.methods.depth_network import LEAST, DepthNetwork
from dioptre.methods.learned import NETWORK, Learned
from dioptre.optics import CameraModel
from dioptre.pipeline.mapping import KIND as MAP
from dioptre.pipeline.predicting import EXAMPLES, EXAMPLES_HASH, PREDICTIONS
from dioptre.pipeline.predicting import KIND as PREDICTIONS_KIND
from dioptre.pipeline.predictions import check_predictions
from dioptre.pipeline.reconstructing import KIND as RECONSTRUCTION
from dioptre.pipeline.reporting import KIND as REPORT
from dioptre.pipeline.simulate_captures import KIND as CAPTURES
from dioptre.resources import read_toml
from dioptre.stack import FocalStack
from dioptre.store.depth_images import KIND as WIDE
from dioptre.store.depth_images import shard_file
from dioptre.store.manifest import MANIFEST, read_manifest
from dioptre.store.patches import READERS, open_patches
from dioptre.store.schema import LEDGER, RUN, WIDE_PICTURES, is_hash
from dioptre.store.shards import CHECKSUMS, Check, verify_file

TRAINING = "training"
BEST = "best.pt"
WHAT = "anything that dioptre writes"


@dataclass(frozen=True)
class Verified:
    """What was found.

    Attributes:
        kind: What it is, in words.
        parts: How many parts were checked.
        faults: What is wrong, a sentence each.
        notes: What could not be checked, a sentence each.
    """

    kind: str
    parts: int
    faults: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Returns the outcome of the check as plain JSON."""
        return {
            "kind": self.kind,
            "parts": self.parts,
            "whole": not self.faults,
            "faults": list(self.faults),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class _Plan:
    """What there is to check."""

    kind: str
    checks: list[Check]
    notes: tuple[str, ...] = ()


def verify(path: Path, done: Callable[[int, int], None]) -> Verified:
    """Returns whether what lies there is what was written.

    Args:
        path: A store, a run, predictions, a report, a map, or a folder of networks; a network, a calibration
            or a camera.
        done: Called with how many parts are checked, and of how many.

    Raises:
        FileError: If it is none of them, or not finished.
    """
    plan = _plan(path)
    faults = []
    for at, check in enumerate(plan.checks):
        done(at, len(plan.checks))
        try:
            check()
        except (DioptreError, OSError) as error:
            faults.append(str(error))
    done(len(plan.checks), len(plan.checks))
    return Verified(plan.kind, len(plan.checks), tuple(faults), plan.notes)


def _plan(path: Path) -> _Plan:
    if not path.exists():
        raise FileError(f"there is no file or folder {path}")
    if path.is_file():
        return _Plan(*_file_checks(path))
    files = sorted(file for file in path.iterdir() if file.suffix in (NETWORK, CALIBRATION))
    if files and not (path / MANIFEST).exists():
        return _Plan(
            "networks and calibrations", [check for file in files for check in _file_checks(file)[1]]
        )
    return _folder_plan(path)


def _folder_plan(path: Path) -> _Plan:  # noqa: PLR0911 (one for each kind)
    manifest = read_manifest(path, WHAT)
    kind = str(manifest.get("kind"))
    if kind in READERS:
        return _store_plan(path, manifest)
    if kind == TRAINING:
        return _run_plan(path, manifest)
    if kind == PREDICTIONS_KIND:
        return _predictions_plan(path, manifest)
    if kind in (REPORT, MAP):
        return _ledger_plan(path, manifest)
    if kind == DEPTH:
        return _Plan("a training of a depth network", [partial(_verify_weights, path, manifest)])
    if kind in (CAPTURES, RECONSTRUCTION):
        return _listed_plan(path, manifest, kind)
    if kind == WIDE:
        WIDE_PICTURES.check(path / MANIFEST, manifest)
        shards = enumerate(manifest["shards"])
        return _Plan(
            "a store of wide pictures",
            [partial(verify_file, shard_file(path, at), one) for at, one in shards],
        )
    raise FileError(f"{path} holds {kind}, which this version of dioptre does not know")


def _store_plan(path: Path, manifest: Mapping[str, Any]) -> _Plan:
    old = f"{path} has no checksums of pages, as earlier versions wrote none: reading it checks nothing"
    notes = () if CHECKSUMS in manifest else (old,)
    try:
        return _Plan("a store of patches", open_patches(path).checks(), notes)
    except FileError as error:
        return _Plan("a store of patches", [partial(_fail, error)], notes)


def _run_plan(path: Path, manifest: Mapping[str, Any]) -> _Plan:
    checks: list[Check] = [
        partial(RUN.check, path / MANIFEST, manifest),
        partial(_verify_weights, path, manifest),
    ]
    if find_spec("torch") is None:
        return _Plan("a training", checks, ("without torch, the weights were not loaded",))
    return _Plan("a training", [*checks, partial(_load_run, path)])


def _predictions_plan(path: Path, manifest: Mapping[str, Any]) -> _Plan:
    checks: list[Check] = [partial(_load_predictions, path)]
    if "sha256" not in manifest:
        return _Plan("predictions", checks, (f"{path} has no hash, which earlier versions did not write",))
    checks.insert(0, partial(verify_file, path / PREDICTIONS, str(manifest["sha256"])))
    if EXAMPLES_HASH in manifest:
        checks.append(partial(verify_file, path / EXAMPLES, str(manifest[EXAMPLES_HASH])))
    return _Plan("predictions", checks)


def _ledger_plan(path: Path, manifest: Mapping[str, Any]) -> _Plan:
    LEDGER.check(path / MANIFEST, manifest)
    files = manifest["files"].items()
    return _Plan(
        f"a {manifest['kind']}", [partial(verify_file, path / name, one) for name, (one, *_) in files]
    )


def _listed_plan(path: Path, manifest: Mapping[str, Any], kind: str) -> _Plan:
    """Returns the checks of captures or a reconstruction: each file that the manifest lists."""
    if "files" not in manifest:
        return _Plan(kind, [], (f"{path} has no hashes, which earlier versions did not write",))
    LEDGER.check(path / MANIFEST, manifest)
    return _Plan(
        kind, [partial(verify_file, path / name, one) for name, (one, *_) in manifest["files"].items()]
    )


def _file_checks(path: Path) -> tuple[str, list[Check]]:
    if path.suffix == NETWORK:
        return "a network", [partial(_verify_network, path)]
    if path.suffix == CALIBRATION:
        return "a calibration or a camera", [partial(_verify_toml, path)]
    raise FileError(f"{path} is not {WHAT}: a folder with a {MANIFEST}, a {NETWORK} or a {CALIBRATION} file")


# Parts


def _fail(error: FileError) -> None:
    raise error


def _verify_weights(path: Path, manifest: Mapping[str, Any]) -> None:
    if not is_hash(manifest.get("weights")):
        raise FileError(f"{path / MANIFEST} has no hash of the weights")
    verify_file(path / BEST, manifest["weights"])


def _load_run(path: Path) -> None:
    from dioptre.train.folder import open_run  # noqa: PLC0415  # torch takes a while to load

    open_run(path).network()


def _load_predictions(path: Path) -> None:
    check_predictions(path)


def _verify_network(path: Path) -> None:
    """Raises NetworkError if a network cannot be loaded, or does not answer finitely."""
    try:
        card = Learned(path).card
    except NetworkError as error:
        if "it has no metadata" not in str(error):
            raise
        view = np.full((1, LEAST, LEAST), 0.25, np.float32)
        DepthNetwork(path)(view, view)
        return
    n = len(card.dioptres)
    indices = np.arange({WHOLE: n, ANY: 1}.get(card.looks, card.looks))[None]
    shape = (1, indices.size, card.views, card.size, card.size)
    pixels = np.random.default_rng(0).uniform(0.05, 0.4, shape).astype(np.float32)
    Learned(path).posterior(FocalStack(pixels, indices, FocusGrid(range(n)), np.zeros((1, 2))))


def _verify_toml(path: Path) -> None:
    """Raises FileError if a file is neither a calibration nor a camera."""
    if "focal_length_mm" in read_toml(path):
        CameraModel.from_toml(path)
    else:
        Calibration.from_toml(path)
