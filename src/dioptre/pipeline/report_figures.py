"""The figures of a report: the paper's 1 to 18, as far as predictions and examples allow, and our own."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from dioptre.evaluate import curves, example_figures, figures, paper_figures
from dioptre.evaluate.aggregate import Choice, nearest_start
from dioptre.evaluate.calibration_metrics import ConfidenceCounts
from dioptre.evaluate.example_figures import Example, as_exposed, example_of
from dioptre.evaluate.examples import (
    AMBIGUOUS,
    BREATHING,
    CONTRAST,
    CURVES,
    MODEL,
    NOISE,
    NOISY,
    PAIR,
    SEEN,
    SPREAD,
    ExampleSet,
)
from dioptre.evaluate.predict import ORACLE
from dioptre.evaluate.provenance import Role
from dioptre.evaluate.tables import Counted, PaperTable, TableLine, first_of, short_key
from dioptre.methods import METHODS
from dioptre.methods.base import WHOLE
from dioptre.optics import CameraModel, breathing

if TYPE_CHECKING:
    from dioptre.evaluate.figures import Figure

DRAWN: Final = 8  # methods in a figure: the best
MOST_BLUR: Final = 40  # indices out of focus, in the figure of errors by blur
ON_A_PAGE: Final = 3  # examples
ONE_LOOK: Final = (
    "zncc-disparity", "ssd-disparity", "learned-depth", "l2a-single-green", "l2a-single-dp",
    "dioptre-single-green", "dioptre-single-dp",
)  # fmt: skip  # methods on the pages of one look
WHOLE_STACK: Final = (
    CONTRAST, "wavelet-log-ratio-3", "total-variation-l2", "normalized-envelope-l1", "census-transform",
    MODEL, "l2a-stack-dp",
)  # fmt: skip  # methods on the pages of whole stacks
BASELINES: Final = {
    "normal": "learned-depth",
    "dark": "zncc-disparity",
}  # of figures 7 and 8, as in the paper
OURS: Final = "l2a-single-dp"


@dataclass(frozen=True, eq=False)
class Illustration:
    """A figure of a report.

    Attributes:
        name: Of its files.
        title: Its title.
        text: What it shows.
        figure: The figure.
        photographic: Whether it is made of photographs, so that a page holds it as one.
    """

    name: str
    title: str
    text: str
    figure: "Figure"
    photographic: bool = False


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of one data set and their examples.

    Attributes:
        counted: The predictions.
        gallery: The examples; None beside predictions of an earlier dioptre.
    """

    counted: Counted
    gallery: ExampleSet | None

    def choices(self, at: int, methods: Sequence[str], steps: int) -> list[tuple[str, int]]:
        """Returns the answers of methods for an example; those with a look from the start nearest to SEEN."""
        assert self.gallery is not None, "an example is one of a gallery"
        mine = [one for one in self._answers(at) if one.steps == steps]
        start = nearest_start(mine, SEEN)
        found = {one.method: one.predicted for one in mine if steps == WHOLE or one.start == start}
        return [(method, found[method]) for method in methods if method in found]

    def start(self, at: int) -> int:
        """Returns the start nearest to SEEN from which an example was answered."""
        return nearest_start(self._answers(at), SEEN)

    def _answers(self, at: int) -> list[Choice]:
        assert self.gallery is not None, "an example is one of a gallery"
        return self.counted.tally.choices.get(int(self.gallery.patch[at]), [])


def illustrate(sets: Mapping[Role, Predicted], tables: Sequence[PaperTable]) -> Iterator[Illustration]:
    """Yields all figures that there is something to draw for.

    Raises:
        MissingExtraError: Without matplotlib.
    """
    main = sets.get(Role.CENTRE) or next(iter(sets.values()))
    yield from _explained(main)
    if main.gallery is not None:
        yield from _examples(main, main.gallery, sets.get(Role.LIGHT_AND_DARK))
        yield from _ambiguity(main.gallery)
        yield from _pages(main, main.gallery)
    yield from _own(main, tables)


# The paper's


def _explained(main: Predicted) -> Iterator[Illustration]:
    """Yields figures 1 to 5."""
    yield Illustration(
        "figure-01-three-problems",
        "Figure 1: the three problems",
        "Slices that an algorithm is shown (red), its scores (blue), its choice (orange). Not measured.",
        paper_figures.three_problems(),
    )
    yield Illustration(
        "figure-02-sensors",
        "Figure 2: ordinary and dual-pixel sensors",
        "Through the halves of a thin lens, light of a thing too near arrives on two sides. Computed.",
        paper_figures.sensors(),
    )
    yield Illustration(
        "figure-03-saturated-point",
        "Figure 3: why contrast misleads",
        "A saturated point: under a disc, as of a real aperture, it has more gradient out of focus.",
        paper_figures.saturated_point(),
    )
    gallery = main.gallery
    if gallery is None:
        return
    for at in gallery.of(NOISE):
        yield Illustration(
            "figure-04-noise",
            "Figure 4: noise misleads contrast",
            f"The focus curve of a patch in {gallery.light[at] or 'some'} light, the slice that it chooses, "
            "and the one in focus: the patch that misleads this measure most, of the dark ones if one does.",
            paper_figures.noise_misleads(
                gallery.curves[at, CURVES.index(NOISY)].astype(np.float64),
                gallery.linear(at),
                int(gallery.truth[at]),
                METHODS[NOISY].title,
            ),
        )
    for at in gallery.of(BREATHING):
        if main.counted.origin.camera != "pixel3":
            continue
        scales, other = breathing(CameraModel.pixel3()), int(np.argmax(gallery.curves[at, 0]))
        yield Illustration(
            "figure-05-breathing",
            "Figure 5: focal breathing",
            "How much the image grows as the lens focuses nearer, by the optics; and a patch whose contents "
            "change with it: ‖∇‖ is the norm of its gradients over its mean.",
            paper_figures.breathing(scales, gallery.linear(at), int(gallery.truth[at]), other),
        )


def _examples(main: Predicted, gallery: ExampleSet, pairs: Predicted | None) -> Iterator[Illustration]:
    """Yields figures 6 to 9."""
    spread = gallery.of(SPREAD)
    lit = [at for at in spread if gallery.light[at] != "dark"] or spread
    if lit:
        some = [lit[place] for place in sorted({0, len(lit) // 2, len(lit) - 1})]
        yield Illustration(
            "figure-06-example-stacks",
            "Figure 6: example stacks",
            "Seven slices of stacks at different depths; the one in focus has a frame. The paper's rig and "
            "depth map have no counterpart here.",
            example_figures.example_stacks([example_of(gallery, at, (), ()) for at in some]),
            photographic=True,
        )
    dark = pairs if pairs is not None and pairs.gallery is not None else main
    for number, light, data in ((7, "normal", main), (8, "dark", dark)):
        found = _compared(data, light)
        if found:
            yield Illustration(
                f"figure-{number:02}-one-look-{light}",
                f"Figure {number}: from one look, {light} light",
                f"What is seen, what {BASELINES[light]} and {OURS} choose with their errors, and the slice "
                "in focus." + (" Patches as exposed, and brightened." if light == "dark" else ""),
                example_figures.example_page(found),
                photographic=True,
            )
    for at in gallery.of(BREATHING):
        middle = len(gallery.slices[at]) // 2
        choices = main.choices(at, (CONTRAST, MODEL), WHOLE)
        shown = example_of(gallery, at, [(f"one of all:\n{middle}", gallery.slices[at, middle])], choices)
        yield Illustration(
            "figure-09-misled",
            "Figure 9: a whole stack that misleads contrast",
            f"All slices are seen. Of the patches that mislead {CONTRAST} more than {MODEL}, this is the one "
            "farthest from the middle of the frame, where focal breathing moves most.",
            example_figures.example_page([shown]),
            photographic=True,
        )


def _compared(data: Predicted, light: str) -> list[Example]:
    """Returns examples of one light: those whose baseline is farther off than ours come first."""
    gallery = data.gallery
    assert gallery is not None, "only data with examples are shown"
    found = []
    for at in [at for at in range(len(gallery)) if gallery.light[at] == light and gallery.why[at] == SPREAD]:
        choices = data.choices(at, (BASELINES[light], OURS), 1)
        if len(choices) == 2:
            off = [abs(k - int(gallery.truth[at])) for _, k in choices]
            found.append((off[1] - off[0], at, choices))
    chosen = sorted(found)[:ON_A_PAGE]
    return [example_of(gallery, at, _inputs(data, gallery, at, light), choices) for _, at, choices in chosen]


def _inputs(
    data: Predicted, gallery: ExampleSet, at: int, light: str
) -> list[tuple[str, example_figures.BytePicture]]:
    """Returns the input of an example: both views, or in the dark the slice as exposed and brightened."""
    start = data.start(at)
    if light == "dark":
        exposed = as_exposed(gallery, at, start)
        return [(f"input, exposed:\n{start}", exposed), ("input, brightened", gallery.slices[at, start])]
    seen = min(SEEN, gallery.slices.shape[1] - 1)
    views = [
        (f"input, {name}:\n{seen}", gallery.views[at, view]) for view, name in enumerate(("left", "right"))
    ]
    return views if start == seen else [(f"input:\n{start}", gallery.slices[at, start])]


def _ambiguity(gallery: ExampleSet) -> Iterator[Illustration]:
    """Yields figure 10."""
    for at in gallery.of(AMBIGUOUS):
        if not len(gallery.posteriors):
            continue
        green, both = gallery.posteriors.astype(np.float64)
        truth, seen = int(gallery.truth[at]), min(SEEN, len(green) - 1)
        yield Illustration(
            "figure-10a-posteriors",
            "Figure 10, left: what one look says",
            f"The probability of each position after slice {seen}: green cannot tell on which side focus is, "
            "both views can.",
            curves.two_posteriors(green[seen], both[seen], seen, truth),
        )
        answers = {key: np.argmax(one, axis=1) for key, one in zip(PAIR, (green, both), strict=True)}
        yield Illustration(
            "figure-10b-by-start",
            "Figure 10, right: answers by slice",
            "The likeliest position after each slice. On the dotted line, as far on the other side of the "
            "slice, blur is the same.",
            curves.answers_by_start(answers, truth, len(green)),
        )


def _pages(main: Predicted, gallery: ExampleSet) -> Iterator[Illustration]:
    """Yields figures 11 to 18: pages of examples."""
    spread = gallery.of(SPREAD)
    pages = [spread[begin : begin + ON_A_PAGE] for begin in range(0, len(spread), ON_A_PAGE)]
    kinds: list[tuple[int, str, int, Sequence[str], Callable[[int], int]]] = [
        (11, "from one look", 1, ONE_LOOK, main.start),
        (15, "from the whole stack", WHOLE, WHOLE_STACK, lambda _: gallery.slices.shape[1] // 2),
    ]
    for first, what, steps, methods, seen in kinds:
        for page, some in enumerate(pages):
            shown = []
            for at in some:
                choices, k = main.choices(at, methods, steps), seen(at)
                title = f"input: {k}" if steps else f"one of all: {k}"
                if choices:
                    shown.append(example_of(gallery, at, [(title, gallery.slices[at, k])], choices))
            if shown:
                yield Illustration(
                    f"figure-{first + page:02}-examples",
                    f"Figure {first + page}: {what}, page {page + 1}",
                    "Above each picture the method, the slice that it chose, and how far that is off. Framed "
                    "in blue: at most one index off; in orange: more.",
                    example_figures.example_page(shown),
                    photographic=True,
                )


# Our own


def _own(main: Predicted, tables: Sequence[PaperTable]) -> Iterator[Illustration]:
    tally = main.counted.tally
    lines = [line for table in tables if table.number in (1, 2) for line in table.lines]
    first = {line.method: line for line in lines if line.steps == 1}.values()
    one_look = sorted(first, key=lambda line: line.ours.mae)[:DRAWN]
    by_start = {line.key: tally.by_start[line.method] for line in one_look if line.method in tally.by_start}
    if by_start:
        yield Illustration(
            "error-by-start",
            "Error by start",
            "Mean absolute error by the slice that was seen first.",
            curves.error_by_start(by_start),
        )
        yield Illustration(
            "error-by-blur",
            "Error by blur",
            "Mean absolute error by how far out of focus the first look was.",
            curves.error_by_blur(by_start, MOST_BLUR),
        )
    yield Illustration(
        "frames",
        "Frames against error",
        "How many frames a strategy looks at, and how far off it is; of those with the whole stack the best.",
        _frames(lines, tally.positions),
    )
    if tally.trust:
        named = _surest(tally.trust)
        yield Illustration(
            "reliability",
            "Is confidence true?",
            "How often answers are at most two steps from a depth that covers a tenth of the patch, by how "
            "sure they were.",
            figures.reliability_diagram({name: one.reliability() for name, one in named.items()}),
        )
        yield Illustration(
            "risk-coverage",
            "What a risk costs",
            "The share of misses among the answers that are accepted, the surest first: a miss is more than "
            "four steps from every depth that covers a tenth of the patch.",
            figures.risk_coverage_curves({name: one.risk_coverage() for name, one in named.items()}),
        )


def _surest(trust: Mapping[tuple[str, int], ConfidenceCounts]) -> dict[str, ConfidenceCounts]:
    """Returns the two methods that miss least of each number of looks."""
    found = {}
    for looks in sorted({steps for _, steps in trust}):
        mine = [(key, one) for (key, steps), one in trust.items() if steps == looks]
        for key, one in sorted(mine, key=lambda each: float(each[1].missed.sum() / each[1].answers))[:2]:
            found[f"{short_key(key)}, {looks or 'all'} look{'' if looks == 1 else 's'}"] = one
    return found


def _frames(lines: Sequence[TableLine], every: int) -> "Figure":
    """Returns the figure of frames against error: strategies that look several times, and the best others."""
    strategies: dict[str, dict[int, float]] = {}
    for line in lines:
        if line.method != ORACLE and line.steps != WHOLE:
            strategies.setdefault(short_key(first_of(line.method)), {})[line.steps] = line.ours.mae
    best = sorted(strategies.items(), key=lambda one: min(one[1].values()))[:DRAWN]
    rows = {name: sorted(points.items()) for name, points in best}
    whole = [line for line in lines if line.steps == WHOLE and line.method != ORACLE]
    for line in sorted(whole, key=lambda line: line.ours.mae)[:3]:
        rows[f"{line.key}, all"] = [(every, line.ours.mae)]
    oracle = next((line.ours.mae for line in lines if line.method == ORACLE), None)
    return curves.frames_against_error(rows, oracle, every)
