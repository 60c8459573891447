"""Predictions: what methods answer for patches, one row for each answer, and nothing measured yet.

A full-stack method answers once for each patch. A method with few looks answers once for each start, at the
end of the search (`autofocus.search`) that also drives a lens: one with two looks is led to the second by the
method before it; one for any number of looks is asked with one, two and three, to which it leads itself, and
with all; one that may be asked again is asked at the start and twice more where it answered. Beside the
answer stands what the verdict says of it.

In a simulated store, `oracle` is an answerer beside the methods. It knows the scene and the camera and sees
exactly where the picture is sharp; it does not know by how much the lens missed the position it was sent to,
and that is all it gets wrong. No method can do better, but by luck.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Int

from dioptre.autofocus.search import askers_of, policy_of, search, see_stack
from dioptre.confidence.curve import peak_position
from dioptre.confidence.exposure import SliceExposures
from dioptre.confidence.statistics import SliceBlocks
from dioptre.confidence.verdict import Verdict, VerdictContext, judge, judge_curve
from dioptre.methods import best_index, find_method, scores
from dioptre.methods.base import ANY, WHOLE, Method
from dioptre.miss import distance_to_nearest
from dioptre.posterior import DepthPrior, Posterior, Scores
from dioptre.problem import Problem
from dioptre.stack import FocalStack
from dioptre.store.labels import in_crop
from dioptre.store.parquet import pa
from dioptre.store.patches import PatchStore

ORACLE = "oracle"
NO_START = -1  # the start of a method that sees the whole stack
SHARED = ""  # in costs, what belongs to no method alone
MOST_LOOKS = 3  # that a method for any number leads itself to; it is also asked with all

SHARP_DISTANCE = "sharp_distance"
SCHEMA = pa.schema(
    [
        ("method", pa.string()),
        ("problem", pa.string()),
        ("steps", pa.int16()),  # looks; 0 for the whole stack
        ("split", pa.string()),
        ("scene", pa.string()),
        ("capture", pa.string()),
        ("patch", pa.int32()),
        ("start", pa.int16()),
        ("predicted", pa.int16()),
        ("truth", pa.int16()),
        (SHARP_DISTANCE, pa.float32()),  # indices to the nearest depth that counts (`miss`); null without any
        ("state", pa.string()),  # "focused", "uncertain" or "failed"; "" if nobody judged
        ("confidence", pa.float32()),
        ("expected_error", pa.float32()),  # indices; null if nobody judged
        ("risk", pa.float32()),  # the share of misses among answers that are as sure
        ("identity", pa.string()),  # the hash of a network; "" for a formula
        ("prior", pa.string()),
        ("in_crop", pa.bool_()),
        ("light", pa.string()),
        ("device", pa.string()),
    ]
)
DEFAULTS: Mapping[str, object] = {"light": "", "device": ""}
JUDGED = ("confidence", "expected_error", "risk")  # columns that are a verdict's numbers


@dataclass(frozen=True, eq=False)
class Answers:
    """What one method answers for some patches.

    Attributes:
        method: Its key.
        problem: The problem it solves.
        steps: How many looks it had; 0 for the whole stack.
        starts: Where it began; one NO_START for the whole stack.
        predicted: For each patch and start.
        verdicts: Likewise, patch by patch; empty if nobody judged.
        identity: Of the method.
    """

    method: str
    problem: Problem
    steps: int
    starts: Int[np.ndarray, " start"]
    predicted: Int[np.ndarray, "batch start"]
    verdicts: Sequence[Verdict] = ()
    identity: str = ""


@dataclass(frozen=True)
class Costs:
    """What methods take, in seconds of processor time, all threads together.

    Attributes:
        seconds: For each method; under SHARED what all of them share: reading, and what verdicts look at.
    """

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def of(self, keys: Sequence[str]) -> Iterator[None]:
        """Counts what is done inside, in equal parts, for methods that do it together."""
        began = time.process_time()
        yield
        for key in keys:
            part = (time.process_time() - began) / len(keys)
            self.seconds[key] = self.seconds.get(key, 0.0) + part


def predict(
    store: PatchStore,
    rows: Int[np.ndarray, " batch"],
    keys: Sequence[str],
    starts: Int[np.ndarray, " start"],
    prior: DepthPrior,
    costs: Costs | None = None,
) -> pa.Table:
    """Returns the predictions of some methods, and of the oracle if the store knows its lens, for patches.

    Args:
        store: The patches.
        rows: Which of them.
        keys: Methods.
        starts: Where methods with few looks begin.
        prior: Where things are expected; methods that know probabilities heed it.
        costs: Told what each method takes.
    """
    costs = Costs() if costs is None else costs
    with costs.of([SHARED]):
        stack = store.stack(rows)
        pictures = [Pictured(SliceExposures.of(pixels), SliceBlocks.of(pixels)) for pixels in stack.pixels]
    methods = [find_method(key) for key in keys]
    answers = _whole_stacks(
        stack, pictures, [one for one in methods if one.looks in (WHOLE, ANY)], prior, costs
    )
    for one in methods:
        if one.looks != WHOLE:
            with costs.of([one.key]):
                answers += _searches(stack, pictures, one, starts, prior)
    answers += _oracle(store, rows)
    return pa.concat_tables([_table(store, rows, one, prior) for one in answers])


@dataclass(frozen=True, eq=False)
class Pictured:
    """What a verdict needs of a patch's pictures."""

    exposures: SliceExposures
    blocks: SliceBlocks

    def judged(self, posterior: Posterior, views: int, context: VerdictContext) -> Verdict:
        """Returns the verdict on the posterior of one scene, of all pictures or of those of some looks."""
        seen = slice(None) if context.looks is None else context.looks.astype(np.int64)
        blocks = self.blocks.at(seen)
        blocks = blocks if views == 2 else blocks.one_view()
        answer = peak_position(posterior.scores()[0])
        return judge(answer, blocks, self.exposures.median(seen), posterior, context)


# The oracle


def oracle_answers(store: PatchStore, rows: Int[np.ndarray, " batch"]) -> Int[np.ndarray, " batch"] | None:
    """Returns what the oracle answers, or None if a store does not know where its lens really was.

    At position k the lens is focused at k + error. The picture is sharp at the patch's depth less that error,
    and there the oracle is sure that it is; of the error it knows only the mean.
    """
    if not {"lens_error", "depth"} <= set(store.table.column_names):
        return None
    grid = store.format.grid
    exact = grid.dioptres_to_index(store.column("depth")[rows])
    error = store.column("lens_error")
    sharp = exact - (error[rows] - error.mean())
    return np.clip(np.round(sharp), 0, len(grid) - 1).astype(np.int64)


def _oracle(store: PatchStore, rows: Int[np.ndarray, " batch"]) -> Iterator[Answers]:
    found = oracle_answers(store, rows)
    if found is not None:
        yield Answers(ORACLE, Problem.STACK_DUAL_PIXEL, WHOLE, np.array([NO_START]), found[:, None])


# Whole stacks


def _whole_stacks(
    stack: FocalStack,
    pictures: Sequence[Pictured],
    methods: Sequence[Method],
    prior: DepthPrior,
    costs: Costs,
) -> list[Answers]:
    """Returns the answers of methods that see all slices: those that score slices are scored together."""
    answers, curves = [], []
    for method in methods:
        with costs.of([method.key]):
            posterior = method.build().posterior(stack)
            if posterior is None:
                curves.append(method)
                continue
            posterior = posterior.weigh(prior)
            context = VerdictContext()
            verdicts = [
                one.judged(posterior.scene(at), method.views, context) for at, one in enumerate(pictures)
            ]
            answers.append(_whole(method, posterior.scores(), verdicts))
    for family in dict.fromkeys(method.family for method in curves):
        mine = [method for method in curves if method.family is family]
        with costs.of([method.key for method in mine]):
            found = scores(stack, [method.key for method in mine])
            verdicts_of = _judge_curves(pictures, found)
            answers += [_whole(method, found[method.key], verdicts_of[method.key]) for method in mine]
    return answers


def _whole(method: Method, found: Scores, verdicts: Sequence[Verdict]) -> Answers:
    whole = Problem.STACK_DUAL_PIXEL if method.views == 2 else Problem.STACK_GREEN
    start, identity = np.array([NO_START]), method.build().identity
    return Answers(method.key, whole, WHOLE, start, best_index(found)[:, None], verdicts, identity)


def _judge_curves(pictures: Sequence[Pictured], curves: Mapping[str, Scores]) -> dict[str, list[Verdict]]:
    """Returns the verdicts on each method's curves, as `focus` finds them."""
    context = VerdictContext()
    return {
        key: [
            judge_curve(curve[at], one.blocks, one.exposures.median(), context)
            for at, one in enumerate(pictures)
        ]
        for key, curve in curves.items()
    }


# A few looks


def _searches(
    stack: FocalStack,
    pictures: Sequence[Pictured],
    method: Method,
    starts: Int[np.ndarray, " start"],
    prior: DepthPrior,
) -> Iterator[Answers]:
    """Yields the answers of a method with few looks, from every start; one for any number after each look."""
    looks = MOST_LOOKS if method.leads_itself else method.looks
    policy, ask = policy_of(method, looks), askers_of(method, looks, prior)
    trails = [search(starts, see_stack(stack, at), ask, policy) for at in range(stack.batch)]
    identity = method.build().identity
    for steps in range(1, looks + 1) if method.leads_itself else (looks,):
        posteriors = [trail.posteriors[steps - 1] for trail in trails]
        predicted = np.stack([best_index(one.scores()) for one in posteriors])
        verdicts = [
            one.judged(
                posterior.scene(walk),
                method.views,
                VerdictContext(looks=seen.astype(np.float64), grid=len(stack.grid)),
            )
            for trail, posterior, one in zip(trails, posteriors, pictures, strict=True)
            for walk in range(len(starts))
            for seen in (np.unique(trail.positions[walk, :steps]),)
        ]
        yield Answers(method.key, method.problem, steps, starts, predicted, verdicts, identity)


# Rows


def _table(
    store: PatchStore, rows: Int[np.ndarray, " batch"], answers: Answers, prior: DepthPrior
) -> pa.Table:
    """Returns answers as rows of predictions."""
    starts = len(answers.starts)
    count = len(rows) * starts
    each = np.repeat(rows, starts)
    columns: dict[str, object] = {
        "method": [answers.method] * count,
        "problem": [str(answers.problem)] * count,
        "steps": np.full(count, answers.steps),
        "patch": each,
        "start": np.tile(answers.starts, len(rows)),
        "predicted": answers.predicted.ravel(),
        "identity": [answers.identity] * count,
        "prior": [prior.name] * count,
        **_judged(answers.verdicts, count),
    }
    columns["in_crop"] = in_crop_of(store)[each]
    columns[SHARP_DISTANCE] = sharp_distances(store, each, answers.predicted.ravel())
    for name in ("split", "scene", "capture", "truth"):
        columns[name] = store.table.column(name).take(pa.array(each))
    for name, default in DEFAULTS.items():
        known = name in store.table.column_names
        columns[name] = store.table.column(name).take(pa.array(each)) if known else [default] * count
    return pa.table({field.name: columns[field.name] for field in SCHEMA}).cast(SCHEMA)


def sharp_distances(
    store: PatchStore, rows: Int[np.ndarray, " answer"], answers: Int[np.ndarray, " answer"]
) -> list[float | None]:
    """Returns how many indices answers are from the nearest place where something is sharp.

    In a store that does not know where that is, the label is the only such place.

    Args:
        store: The patches.
        rows: Of each answer, its patch.
        answers: Indices.

    Returns:
        A distance for each answer; None where nothing can be focused on.
    """
    known = "sharp_at" in store.table.column_names
    places = store.table.column("sharp_at" if known else "truth").take(pa.array(rows)).to_pylist()
    if not known:
        places = [[float(truth)] for truth in places]
    distances = distance_to_nearest(answers.astype(np.float64), places)
    return [float(one) if np.isfinite(one) else None for one in distances]


def in_crop_of(store: PatchStore) -> Bool[np.ndarray, " patch"]:
    """Returns which patches lie in the central 1.5x crop; all of a store that does not know its frame."""
    if "in_crop" in store.table.column_names:
        return store.column("in_crop")
    simulated = store.manifest.get("config", {}).get("camera", {})
    frame = store.frame or simulated.get("frame")
    if frame is None or not {"row", "col"} <= set(store.table.column_names):
        return np.ones(len(store), bool)
    corners = np.stack([store.column("row"), store.column("col")], axis=1)
    return in_crop(corners, (int(frame[0]), int(frame[1])), store.format.size)


def _judged(verdicts: Sequence[Verdict], count: int) -> dict[str, object]:
    """Returns the columns of the verdicts; nulls if nobody judged."""
    if not verdicts:
        return {"state": [""] * count} | {name: [None] * count for name in JUDGED}
    columns: dict[str, object] = {name: [getattr(one, name) for one in verdicts] for name in JUDGED}
    return {"state": [one.state.value for one in verdicts], **columns}
