"""Autofocus within an acquisition: an engine of pymmcore-plus that focuses where a useq plan says so.

    def focus(camera):
        return dioptre.Autofocus(camera).run()

    core.mda.set_engine(AutofocusEngine(core, focus, way_um=20.0, step_um=0.5))
    core.run_mda(useq.MDASequence(..., autofocus_plan={"axes": ("p",)}), block=True)
    core.mda.engine.records      # what was found, for each position and time

Where the plan asks for autofocus, the stage is focused by `focus` around where it stands, once for each
position and time (a plan that names further axes: once for each of theirs too), and the slices that follow
are taken around what was found. An answer that is uncertain is the best there is: the engine takes it, and
warns. Focusing that fails is a RuntimeError to the engine: it is tried `max_retries` times, then the stage
goes back, the engine warns, and the acquisition goes on. No autofocus device needs to be configured. Every
outcome is kept, the failed ones too.
"""

import logging
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from dioptre.cameras.micromanager import MISSING, STEP_UM, WAY_UM, MicroManagerCamera
from dioptre.errors import DioptreError, MissingExtraError

try:
    from pymmcore_plus import CMMCorePlus
    from pymmcore_plus.mda import MDAEngine
    from useq import HardwareAutofocus, MDAEvent, MDASequence
except ModuleNotFoundError:
    raise MissingExtraError(MISSING) from None

LOGGER = logging.getLogger("pymmcore-plus")
FOCUSED, UNCERTAIN = "focused", "uncertain"  # of dioptre.State, which a later room defines


@runtime_checkable
class FocusOutcome(Protocol):
    """The part of `dioptre.FocusResult` that the engine needs."""

    @property
    def state(self) -> str:
        """Focused, uncertain or failed."""
        ...


R = TypeVar("R", bound=FocusOutcome)


@dataclass(frozen=True)
class FocusRecord(Generic[R]):
    """The outcome of one focusing.

    Attributes:
        index: Which position, time and so on of the acquisition.
        result: What was found; None if the hardware failed.
        before_um: Where the stage stood.
        after_um: Where it was left; not a number if the stage does not tell.
        error: What went wrong, in a sentence; empty if nothing did.
    """

    index: Mapping[str, int]
    result: R | None
    before_um: float
    after_um: float
    error: str = ""


class AutofocusEngine(MDAEngine, Generic[R]):
    """Runs acquisitions, and focuses where their autofocus plan says so.

    Attributes:
        records: What became of each focusing of the last acquisition, in order, every try.
    """

    def __init__(
        self,
        core: CMMCorePlus,
        focus: Callable[[MicroManagerCamera], R],
        *,
        way_um: float = WAY_UM,
        step_um: float = STEP_UM,
        **settings: Any,
    ) -> None:
        """Keeps the core and the settings.

        Args:
            core: Micro-Manager.
            focus: Focuses a camera, leaves its lens there, and says what became of it.
            way_um: How long the way is on which the focus is looked for, around where the stage stands.
            step_um: How far apart its positions are.
            settings: For pymmcore-plus' own engine.
        """
        super().__init__(core, **settings)
        self.records: list[FocusRecord[R]] = []
        self._focus, self._way_um, self._step_um = focus, way_um, step_um
        self._done: set[tuple[tuple[str, int], ...]] = set()
        self._index: Mapping[str, int] = {}

    @property
    def results(self) -> list[R]:
        """The results in order, without the attempts in which the hardware failed."""
        return [record.result for record in self.records if record.result is not None]

    def setup_sequence(self, sequence: MDASequence) -> Any:
        """Begins an acquisition: forgets the results of the last."""
        self.records.clear()
        self._done.clear()
        return super().setup_sequence(sequence)

    def exec_event(self, event: MDAEvent) -> Iterable[Any]:
        """Focuses, if that is what an event is for; otherwise takes its images."""
        if not isinstance(event.action, HardwareAutofocus):
            yield from super().exec_event(event)
            return
        key = _once(event)
        if key in self._done:
            return
        self._done.add(key)
        self._index = dict(event.index)
        try:
            moved_um = self._execute_autofocus(event.action)
        except RuntimeError as error:
            self._af_succeeded = False
            LOGGER.warning("autofocus failed: %s", error)
            return
        self._af_succeeded = True
        at = event.index.get("p")
        self._z_correction[at] = self._z_correction.get(at, 0.0) + moved_um

    def _execute_autofocus(self, action: HardwareAutofocus) -> float:
        """Returns by how many micrometres focusing has moved the stage.

        Raises:
            RuntimeError: If it is not in focus after so many tries; the stage is back then.
        """
        core = self.mmcore
        core.enableContinuousFocus(False)
        before_um = core.getZPosition()
        for _ in range(max(action.max_retries, 1)):
            record = self._try(before_um)
            self.records.append(record)
            if not record.error:
                return record.after_um - before_um
        raise RuntimeError(record.error)

    def _try(self, before_um: float) -> FocusRecord[R]:
        """Focuses once; if that fails, the stage goes back."""
        core, result, error = self.mmcore, None, ""
        try:
            camera = MicroManagerCamera(core, way_um=self._way_um, step_um=self._step_um)
            result = self._focus(camera)
            if result.state == UNCERTAIN:
                LOGGER.warning("autofocus is uncertain, and its answer is taken: %s", result)
            elif result.state != FOCUSED:
                error = f"the focus was not found: {result}"
        except DioptreError as fault:
            error = str(fault)
        try:
            if error:
                core.setZPosition(before_um)
            core.waitForSystem()
            after_um = core.getZPosition()
        except RuntimeError as fault:
            error, after_um = error or str(fault), math.nan
        return FocusRecord(self._index, result, before_um, after_um, error)


def _once(event: MDAEvent) -> tuple[tuple[str, int], ...]:
    """Returns the axes and indices that share one focusing: position, time, and those that the plan names."""
    plan = event.sequence.autofocus_plan if event.sequence is not None else None
    axes = {*plan.axes, "p", "t"} if plan is not None else set(event.index)
    return tuple(sorted((axis, at) for axis, at in event.index.items() if axis in axes))
