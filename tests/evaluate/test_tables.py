import json
from collections.abc import Sequence

import pytest

pytest.importorskip("pyarrow")

import numpy as np
import pyarrow as pa

from dioptre.errors import FileError
from dioptre.evaluate import formats, paper
from dioptre.evaluate.aggregate import tally
from dioptre.evaluate.page import TINTS
from dioptre.evaluate.predict import ORACLE, SCHEMA
from dioptre.evaluate.provenance import Provenance, Role
from dioptre.evaluate.tables import Counted, Group, PaperTable, paper_tables
from dioptre.problem import Problem

ORIGIN = Provenance(
    "hash", True, "test", 4, 1, device="center", camera="pixel3", seed=7, positions=49, scenes=2
)


def rows_of(
    method: str,
    problem: str,
    steps: int,
    errors: Sequence[int],
    scenes: Sequence[str] = ("s",),
    light: str = "normal",
) -> list[dict[str, object]]:
    return [
        {
            "method": method,
            "problem": problem,
            "steps": steps,
            "split": "test",
            "scene": scenes[at % len(scenes)],
            "capture": "s_0",
            "patch": at,
            "start": -1 if steps == 0 else 7,
            "predicted": 20 + error,
            "truth": 20,
            "in_crop": True,
            "light": light,
            "device": "center",
        }
        for at, error in enumerate(errors)
    ]


def counted(rows: list[dict[str, object]], origin: Provenance = ORIGIN) -> Counted:
    table = pa.Table.from_pylist(rows, schema=SCHEMA)
    halves = [table.slice(0, len(table) // 2), table.slice(len(table) // 2)]
    return Counted(origin, tally(halves, 49))


def table(number: int, rows: list[dict[str, object]], role: Role = Role.CENTRE) -> PaperTable:
    (found,) = [one for one in paper_tables({role: counted(rows)}) if one.number == number]
    return found


PREDICTIONS = [
    *rows_of("local-norm-dist-sq-4", "I*", 0, [0, 1, -3, 6]),
    *rows_of("total-variation-l1", "I*", 0, [10, 10, 10, 10]),
    *rows_of("census-transform", "D*", 0, [0, 0, 0, 2]),
    *rows_of("l2a-single-dp", "D1", 1, [2, -2, 2, -2]),
    *rows_of("l2a-single-green", "I1", 1, [3, -3, 3, -3]),
    *rows_of("l2a-two-step-dp", "D1", 2, [1, -1, 1, -1]),
    *rows_of(ORACLE, "D*", 0, [0, 1, -1, 0]),
]


def methods(groups: Sequence[Group]) -> list[list[str]]:
    return [[line.method for line in group.lines] for group in groups]


def test_a_line_measures_its_own_predictions() -> None:
    line = table(1, PREDICTIONS).groups[0].lines[1]
    assert line.method == "local-norm-dist-sq-4"
    assert line.ours.numbers == pytest.approx((0.25, 0.5, 0.5, 0.75, 2.5, 11.5**0.5))
    assert line.ours.count == 4
    assert line.paper == paper.BIG_TABLE["local-norm-dist-sq-4"]


def test_table_1_has_four_groups_the_worst_first_the_oracle_last() -> None:
    big = table(1, PREDICTIONS)
    assert methods(big.groups) == [
        ["total-variation-l1", "local-norm-dist-sq-4", ORACLE],
        ["census-transform", ORACLE],
        ["l2a-single-dp", ORACLE],
        ["l2a-single-green", ORACLE],
    ]
    assert "4 simulated patches, not real captures, of 2 scenes; split test, centre phone" in big.about
    assert "seed 7" in big.about


def test_the_best_are_marked_and_methods_with_one_look_together() -> None:
    full, _, both, green = table(1, PREDICTIONS).groups
    assert [line.marks for line in full.lines] == [(2,) * 6, (1,) * 6, (0,) * 6]
    assert both.lines[0].marks == (1, 1, 1, 1, 1, 1)
    assert green.lines[0].marks == (1, 1, 2, 1, 2, 2)  # none is right, within 1 or beyond 4: those are equal


def test_table_2_has_the_steps_of_each_algorithm_after_each_other() -> None:
    steps = table(2, PREDICTIONS)
    (group,) = steps.groups
    assert [(line.method, line.steps) for line in group.lines] == [
        ("l2a-single-dp", 1),
        ("l2a-two-step-dp", 2),
        (ORACLE, 0),
    ]
    assert group.lines[1].paper == paper.MULTI_STEP["l2a-two-step-dp", 2]


def test_table_3_stands_beside_the_papers_registered_numbers() -> None:
    rows = [
        *rows_of("wavelet-sum-3", "I*", 0, [1]),
        *rows_of("total-variation-l1", "I*", 0, [1]),
        *rows_of("some/where/l2a-registered-green.onnx", "I*", 0, [2]),
    ]
    sets = {role: counted(rows) for role in (Role.CALIBRATED, Role.SEARCHED)}
    (found,) = [one for one in paper_tables(sets) if one.number == 3]
    assert [group.title for group in found.groups] == [
        "I*, registered, calibrated",
        "I*, registered, searched",
    ]
    model, wavelet = found.groups[0].lines
    assert (model.key, model.paper) == ("l2a-registered-green", paper.REGISTERED["l2a-stack-green"])
    assert wavelet.paper == paper.REGISTERED["wavelet-sum-3"]


def test_table_4_is_of_the_phones_own_calibration() -> None:
    keys = ("zncc-disparity", "zncc-disparity@left", "l2a-single-dp")
    rows = [row for key in keys for row in rows_of(key, "D1", 1, [1])]
    found = {line.method: line.paper for line in table(4, rows, Role.LEFT).lines}
    assert found["zncc-disparity"] is None
    assert found["zncc-disparity@left"] == paper.LEFT_CAMERA["zncc-disparity"]
    assert found["l2a-single-dp"] == paper.LEFT_CAMERA["l2a-single-dp"]


def test_table_5_tells_light_from_dark() -> None:
    rows = [
        row
        for light, error in (("normal", 1), ("dark", 6))
        for row in rows_of("l2a-single-dp", "D1", 1, [error] * 3, light=light)
    ]
    light, dark = table(5, rows, Role.LIGHT_AND_DARK).groups
    assert (light.lines[0].ours.mae, dark.lines[0].ours.mae) == (1, 6)
    assert light.lines[0].paper == paper.LIGHT_AND_DARK["l2a-single-dp", "light"]
    assert dark.lines[0].paper == paper.LIGHT_AND_DARK["l2a-single-dp", "dark"]


def test_methods_with_a_dagger_are_measured_in_the_central_crop() -> None:
    rows = [
        row | {"in_crop": error == 0}
        for method in ("ssd-disparity", "zncc-disparity", "ssd-disparity@left")
        for error in (0, 9)
        for row in rows_of(method, "D1", 1, [error])
    ]
    big = table(1, rows)
    found = {line.method: line for line in big.lines}
    assert found["ssd-disparity"].ours.mae == found["ssd-disparity@left"].ours.mae == 0
    assert found["zncc-disparity"].ours.mae == 4.5
    assert found["ssd-disparity"].title == "SSD Disparity †"
    assert found["ssd-disparity@left"].paper is None
    assert "† on patches inside" in formats.to_markdown([big], {})
    assert r"SSD Disparity $^\dagger$" in formats.to_latex(big)


def test_a_line_is_compared_with_the_best_on_the_same_answers() -> None:
    scenes = [f"s{at}" for at in range(12)]
    rng = np.random.default_rng(0)
    hard = rng.integers(0, 9, 48)
    rows = [
        *rows_of("wavelet-sum-2", "I*", 0, hard.tolist(), scenes),
        *rows_of("wavelet-sum-3", "I*", 0, (hard + 1).tolist(), scenes),
    ]
    worse, best = table(1, rows).groups[0].lines
    assert best.behind is None
    assert worse.behind is not None
    assert (worse.behind.difference, worse.behind.high) == (-1.0, -1.0)
    assert worse.behind.p < 0.01
    few = table(1, [row for row in rows if row["scene"] in scenes[:4]]).groups[0].lines
    assert [line.behind for line in few] == [None, None]  # four scenes cannot tell


def test_methods_are_ranked_beside_the_paper() -> None:
    keys = ["total-variation-l1", "intensity-variance", "laplacian-energy", "wavelet-sum-2"]
    rows = [row for at, key in enumerate(keys) for row in rows_of(key, "I*", 0, [9 - 2 * at, 9 - 2 * at])]
    assert table(1, rows).groups[0].agreement == pytest.approx(1.0)
    assert table(1, PREDICTIONS).groups[0].agreement is None


def test_json_holds_every_number() -> None:
    entries = json.loads(json.dumps(table(1, PREDICTIONS).to_json()))
    assert [len(group["rows"]) for group in entries["groups"]] == [3, 2, 2, 2]
    assert entries["groups"][0]["rows"][0]["metrics"]["mae"] == 10


def test_the_papers_numbers_are_called_the_papers() -> None:
    big = table(1, PREDICTIONS)
    text = formats.to_markdown([big], {})
    assert f"\n{big.about}\n" in text
    assert "the paper's MAE" in text
    row = next(line for line in text.splitlines() if "`local-norm-dist-sq-4`" in line)
    assert "| 2.500 | 3.391 |" in row
    assert row.endswith("| 0.928 | 2.059 | 4.164 |")
    oracle = next(line for line in text.splitlines() if f"`{ORACLE}`" in line)
    assert oracle.endswith("|  |  |  |  |  |  |")


def test_csv_and_latex_have_the_same_numbers() -> None:
    big = table(1, PREDICTIONS)
    head, *rows = formats.to_csv(big).splitlines()
    assert len(rows) == len(big.lines)
    entries = dict(zip(head.split(","), rows[1].split(",")[-len(head.split(",")) :], strict=False))
    assert entries["paper_rmse"] == "4.164"
    latex = formats.to_latex(big)
    assert r"\cellcolor{red!40}" in latex
    assert latex.count(r" \\") == len(big.lines) + len(big.groups) + 2
    assert "2.500" in latex


def test_a_page_has_both_numbers_under_their_own_heads_and_the_best_tinted() -> None:
    page = formats.to_page(table(1, PREDICTIONS))
    assert [column.group for column in page.columns].count("ours") == 6
    assert [column.group for column in page.columns].count("the paper's, on its own data") == 6
    worst, best, oracle = page.bodies[0].rows
    assert best[0].small == "local-norm-dist-sq-4"
    assert [cell.tint for cell in best[2:8]] == [TINTS[0]] * 6
    assert [cell.tint for cell in worst[2:8]] == [TINTS[1]] * 6
    assert best[6].text == "2.500"
    assert best[6].hint == "2.500 to 2.500 over scenes"  # one scene
    assert best[14].text == f"{paper.BIG_TABLE['local-norm-dist-sq-4'].mae:.3f}"
    assert [cell.text for cell in oracle[10:]] == [""] * 6


def test_predictions_beyond_the_ladder_are_refused() -> None:
    with pytest.raises(FileError, match=r"lie in 0\.\.48"):
        counted(rows_of("wavelet-sum-2", "I*", 0, [30]))


def test_confidence_is_about_the_nearest_depth_and_not_about_the_label() -> None:
    rows = [
        row | {"sharp_distance": away, "state": "focused", "confidence": sure, "risk": 0.1}
        for (away, sure) in ((1.5, 0.9), (4.5, 0.9), (None, 0.8), (30.0, None))
        for row in rows_of("wavelet-sum-2", "I*", 0, [9])
    ]
    (trust,) = counted(rows).tally.trust.values()
    assert trust.answers == 3  # an answer that nobody judged is left out
    assert trust.right.sum() == 1
    assert trust.false_confident == 2  # one of them where nothing can be focused on
    finer = tally([pa.Table.from_pylist(rows, schema=SCHEMA)], 49, steps_per_index=0.5)
    (trust,) = finer.trust.values()
    assert (trust.right.sum(), trust.false_confident) == (1, 1)


def test_where_answers_began_is_counted() -> None:
    found = counted(rows_of("l2a-single-dp", "D1", 1, [3, -1])).tally.by_start["l2a-single-dp"]
    assert found[:, 7, 20].tolist() == [2, 4]
    assert found.sum() == 6
    assert Problem.SINGLE_DUAL_PIXEL in [kind.problem for kind in counted(PREDICTIONS).tally.sums]
