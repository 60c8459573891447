"""Where predictions come from: of which data, so that a report knows which table they belong to."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from dioptre.errors import FileError, InputError
from dioptre.evaluate.predict import oracle_answers
from dioptre.optics import CameraModel, steps_per_index
from dioptre.store.manifest import canonical
from dioptre.store.patches import PatchStore

PAIRS = "pairs"  # the light of data that has every scene in normal light and in the dark
MIXED = "mixed"
LEFT = "left"
PHONES = {"center": "centre phone", LEFT: "left phone"}


class Role(StrEnum):
    """What data are to the paper's evaluation."""

    CENTRE = "centre"  # the test set: Tables 1 and 2
    CALIBRATED = "registered-calibrated"  # Table 3
    SEARCHED = "registered-searched"  # Table 3
    LEFT = "left"  # the other phone: Table 4
    LIGHT_AND_DARK = "light-and-dark"  # Table 5


@dataclass(frozen=True)
class Provenance:
    """The data that predictions are of.

    Attributes:
        data: Hash of the patch store.
        simulated: Whether they are simulated.
        split: Which of its patches.
        patches: How many.
        scenes: Of how many scenes; 0 if that was not written down.
        starts: From how many positions a method with few looks began.
        positions: Of the grid; 0 if that was not written down.
        grid: Hash of the grid; "" if that was not written down.
        store: Name of the store's folder; "" if that was not written down.
        device: Which phone, or phones; likewise.
        light: normal, dark, mixed, or pairs of both; likewise.
        registration: How focal breathing was undone: calibrated or searched; "" if it was not.
        camera: Name of the camera.
        seed: Of the simulation; None if there was none.
        prior: Under which methods that know probabilities answered; "" if that was not written down.
        steps_per_index: How many steps of blur (`dioptre.miss`) an index is; 1 if the camera is not known.
    """

    data: str
    simulated: bool
    split: str
    patches: int
    starts: int
    scenes: int = 0
    positions: int = 0
    ladder: str = ""
    store: str = ""
    device: str = ""
    light: str = ""
    registration: str = ""
    camera: str = ""
    seed: int | None = None
    prior: str = ""
    steps_per_index: float = 1.0

    @property
    def role(self) -> Role:
        """What the data are to the paper's evaluation."""
        if self.registration:
            return Role(f"registered-{self.registration}")
        if self.light == PAIRS:
            return Role.LIGHT_AND_DARK
        return Role.LEFT if self.device == LEFT else Role.CENTRE

    def describe(self) -> str:
        """Returns a description of the data in a sentence or two."""
        kind = "simulated patches, not real captures" if self.simulated else "imported patches"
        light = {PAIRS: "every one in normal light and in the dark", MIXED: "normal and low light"}
        told = [
            f"split {self.split}",
            PHONES.get(self.device, self.device and "several phones"),
            light.get(self.light, self.light and f"{self.light} light"),
            self.registration and f"focal breathing undone, {self.registration}",
            self.camera and f"camera {self.camera}",
            "" if self.seed is None else f"seed {self.seed}",
            "" if self.prior in ("", "even") else f"answers under a {self.prior} prior",
        ]
        scenes = f", of {self.scenes} scenes" if self.scenes else ""
        known = ", ".join(one for one in told if one)
        return (
            f"Ours: {self.patches} {kind}{scenes}; {known}. A method with few looks begins at {self.starts} "
            "positions. Errors are in indices."
        )

    def to_json(self) -> dict[str, Any]:
        """Returns it as plain JSON."""
        return asdict(self)


def origin_of(store: PatchStore, split: str, starts: int, prior: str) -> Provenance:
    """Returns the origin of predictions for a split of a store."""
    config = store.manifest.get("config", {})
    source = (config.get("source") or {}).get("config") or {} if "how" in config else config
    rows = store.rows_of(split)
    simulated = oracle_answers(store, rows[:1]) is not None
    lights = _values(store, "light")
    paired = len(lights) > 1 and (not simulated or source.get("light") == "both")
    camera = source.get("camera")
    return Provenance(
        data=store.manifest["sha256"],
        simulated=simulated,
        split=split,
        patches=len(rows),
        starts=starts,
        scenes=len(set(store.column("scene")[rows].tolist())),
        positions=len(store.format.grid),
        ladder=hashlib.sha256(canonical(store.format.grid.to_json()).encode()).hexdigest(),
        store=store.path.name,
        device="+".join(_values(store, "device")),
        light=PAIRS if paired else MIXED if len(lights) > 1 else "".join(lights),
        registration=str(config.get("how", "")),
        camera=str(camera.get("name", "")) if isinstance(camera, Mapping) else "",
        seed=source.get("seed") if simulated else None,
        prior=prior,
        steps_per_index=_steps_per_index(store, camera),
    )


def _steps_per_index(store: PatchStore, camera: object) -> float:
    """Returns how many steps of blur an index is; 1 of patches that no known camera simulated."""
    if not isinstance(camera, Mapping):
        return 1.0
    try:
        return steps_per_index(CameraModel(**{**camera, "grid": store.format.grid}))
    except (InputError, TypeError):  # an older store, or another's, says less of its camera
        return 1.0


def _values(store: PatchStore, name: str) -> list[str]:
    """Returns the different values of a column of text, if there is one."""
    known = name in store.table.column_names
    return sorted(set(store.column(name).tolist()) - {""}) if known else []


def origin_from_json(entries: Mapping[str, Any], folder: object) -> Provenance:
    """Returns the origin that a manifest of predictions tells; of an earlier one as much as it knows.

    Args:
        entries: The manifest.
        folder: What to call the predictions if it cannot be understood.

    Raises:
        FileError: If it does not describe predictions.
    """
    try:
        if "origin" in entries:
            origin = Provenance(**entries["origin"])
            _ = origin.role  # raises if there is no such registration
            return origin
        return Provenance(
            data=entries["data"],
            simulated=entries["simulated"],
            split=entries["split"],
            patches=entries["patches"],
            starts=len(entries["starts"]),
            prior=entries["prior"]["name"],
        )
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"the manifest of {folder} does not describe predictions: {error!r}") from None
