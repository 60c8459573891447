"""Which figures a report has, out of examples and counts that are known beforehand."""

from dataclasses import replace

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa

from dioptre.evaluate.aggregate import tally
from dioptre.evaluate.examples import AMBIGUOUS, BREATHING, NOISE, SPREAD, ExampleSet
from dioptre.evaluate.predict import SCHEMA
from dioptre.evaluate.provenance import Provenance, Role
from dioptre.evaluate.tables import Counted, paper_tables
from dioptre.pipeline.report_figures import ONE_LOOK, WHOLE_STACK, Illustration, Predicted, illustrate

pytest.importorskip("matplotlib")

N, TRUTH = 49, 20
WHY = (*(SPREAD,) * 6, NOISE, BREATHING, AMBIGUOUS)
LIGHT = tuple("dark" if at in (1, 3, 6) else "normal" for at in range(len(WHY)))
ORIGIN = Provenance("hash", True, "test", len(WHY), 1, positions=N, camera="pixel3")


def gallery() -> ExampleSet:
    rng, count = np.random.default_rng(0), len(WHY)
    curves = np.zeros((count, 2, N), np.float32)
    curves[:, 0, 30] = curves[:, 1, 40] = 1
    posteriors = np.zeros((2, N, N), np.float32)
    posteriors[0, :, 30] = posteriors[1, :, TRUTH] = 1
    return ExampleSet(
        np.arange(count),
        np.array([f"scene_{at}" for at in range(count)]),
        np.array(WHY),
        np.full(count, TRUTH),
        np.array(LIGHT),
        np.tile(np.array([0, 0.5], np.float32), (count, 1)),
        rng.integers(0, 256, (count, N, 8, 8)).astype(np.uint8),
        rng.integers(0, 256, (count, 2, 8, 8)).astype(np.uint8),
        curves,
        posteriors,
    )


def predicted(origin: Provenance = ORIGIN, shown: ExampleSet | None = None) -> Predicted:
    rows = [
        dict.fromkeys(SCHEMA.names)
        | {"method": method, "problem": problem, "steps": steps, "scene": "s", "patch": at, "start": start}
        | {"predicted": TRUTH + off, "truth": TRUTH, "in_crop": True, "light": LIGHT[at]}
        for methods, problem, steps, start in ((ONE_LOOK, "D1", 1, 25), (WHOLE_STACK, "I*", 0, -1))
        for off, method in enumerate(methods)
        for at in range(len(WHY))
    ]
    batches = [pa.Table.from_pylist(rows, schema=SCHEMA)]
    return Predicted(Counted(origin, tally(batches, N, range(len(WHY)))), shown)


def drawn(data: Predicted) -> dict[str, Illustration]:
    return {
        one.name: one for one in illustrate({Role.CENTRE: data}, paper_tables({Role.CENTRE: data.counted}))
    }


def titles(one: Illustration) -> list[str]:
    return [axes.get_title() for axes in one.figure.axes]


def test_all_figures_of_the_paper_are_drawn() -> None:
    found = drawn(predicted(shown=gallery()))
    numbers = [name.split("-")[1] for name in found if name.startswith("figure-")]
    pages = ["11", "12", "15", "16"]  # six examples, three on a page
    assert numbers == ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10a", "10b", *pages]
    assert "the image grows by, %" in found["figure-05-breathing"].figure.axes[0].get_ylabel()
    assert titles(found["figure-04-noise"]) == ["Laplacian Variance", "chosen: 40", f"in focus: {TRUTH}"]


def test_pages_say_what_was_chosen_and_how_far_that_is_off() -> None:
    found = drawn(predicted(shown=gallery()))
    row = titles(found["figure-11-examples"])[: len(ONE_LOOK) + 2]
    assert row[0] == "input: 25"
    assert row[1] == f"zncc-disparity\n{TRUTH} (Err 0)"
    assert row[3] == f"learned-depth\n{TRUTH + 2} (Err +2)"
    assert row[-1] == f"in focus:\n{TRUTH}"
    assert titles(found["figure-15-examples"])[0] == "one of all: 24"
    light, dark = (titles(found[f"figure-0{number}"]) for number in ("7-one-look-normal", "8-one-look-dark"))
    assert light[:2] == ["input, left:\n25", "input, right:\n25"]
    assert dark[:2] == ["input, exposed:\n25", "input, brightened"]
    assert len(light) == 3 * 5
    assert len(dark) == 2 * 5  # two dark examples that are not shown for another reason


def test_without_examples_what_needs_them_is_left_out() -> None:
    found = drawn(predicted())
    assert [name for name in found if name.startswith("figure-")] == [
        "figure-01-three-problems",
        "figure-02-sensors",
        "figure-03-saturated-point",
    ]
    assert {"error-by-start", "error-by-blur", "frames"} <= set(found)


def test_the_optics_of_an_unknown_camera_are_not_drawn() -> None:
    assert "figure-05-breathing" not in drawn(predicted(replace(ORIGIN, camera="mine"), gallery()))
