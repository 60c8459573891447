import json

import pyarrow as pa
import pytest

from dioptre.evaluate import paper
from dioptre.evaluate.predict import ORACLE, SCHEMA
from dioptre.evaluate.tables import lines, rank_correlation, to_json, to_markdown, to_page
from dioptre.problem import Problem


def rows_of(method: str, problem: str, steps: int, errors: list[int]) -> list[dict[str, object]]:
    return [
        {
            "method": method,
            "problem": problem,
            "steps": steps,
            "split": "test",
            "scene": "s",
            "capture": "s_0",
            "patch": at,
            "start": -1,
            "predicted": 20 + error,
            "truth": 20,
            "in_crop": True,
            "light": "normal",
            "device": "center",
        }
        for at, error in enumerate(errors)
    ]


PREDICTIONS = pa.Table.from_pylist(
    [
        *rows_of("local-norm-dist-sq-4", "I*", 0, [0, 1, -3, 6]),
        *rows_of("total-variation-l1", "I*", 0, [10, 10, 10, 10]),
        *rows_of("census-transform", "D*", 0, [0, 0, 0, 2]),
        *rows_of("l2a-single-dp", "D1", 1, [2, -2, 2, -2]),
        *rows_of("l2a-two-step-dp", "D1", 2, [1, -1, 1, -1]),
        *rows_of(ORACLE, "D*", 0, [0, 1, -1, 0]),
    ],
    schema=SCHEMA,
)


def test_a_line_measures_its_own_predictions() -> None:
    (line,) = [line for line in lines(PREDICTIONS) if line.method == "local-norm-dist-sq-4"]
    assert line.ours.numbers == pytest.approx((0.25, 0.5, 0.5, 0.75, 2.5, 11.5**0.5))
    assert line.ours.count == 4
    assert line.paper == paper.BIG_TABLE["local-norm-dist-sq-4"]


def test_problems_stand_in_the_papers_order_and_the_worst_first() -> None:
    found = [(line.problem, line.method) for line in lines(PREDICTIONS)]
    assert found == [
        (Problem.STACK_GREEN, "total-variation-l1"),
        (Problem.STACK_GREEN, "local-norm-dist-sq-4"),
        (Problem.STACK_GREEN, ORACLE),
        (Problem.STACK_DUAL_PIXEL, "census-transform"),
        (Problem.STACK_DUAL_PIXEL, ORACLE),
        (Problem.SINGLE_DUAL_PIXEL, "l2a-single-dp"),
        (Problem.SINGLE_DUAL_PIXEL, "l2a-two-step-dp"),
        (Problem.SINGLE_DUAL_PIXEL, ORACLE),
    ]


def test_two_steps_stand_beside_the_papers_two_steps() -> None:
    (line,) = [line for line in lines(PREDICTIONS) if line.method == "l2a-two-step-dp"]
    assert line.paper == paper.MULTI_STEP["l2a-two-step-dp", 2]


def test_the_papers_numbers_are_called_the_papers() -> None:
    text = to_markdown(lines(PREDICTIONS), "Heading", "A note.")
    assert text.startswith("# Heading\n\nA note.\n")
    assert "the paper's MAE" in text
    row = next(line for line in text.splitlines() if "`local-norm-dist-sq-4`" in line)
    assert row.endswith("| 2.500 | 3.391 | 2.059 | 4.164 |")
    oracle = next(line for line in text.splitlines() if f"`{ORACLE}`" in line)
    assert oracle.endswith("|  |  |")


def test_json_holds_every_number() -> None:
    entries = json.loads(json.dumps(to_json(lines(PREDICTIONS), {"split": "test"})))
    assert entries["about"] == {"split": "test"}
    assert len(entries["rows"]) == 8
    assert entries["rows"][0]["metrics"]["mae"] == 10


def test_methods_with_a_dagger_are_measured_in_the_central_crop() -> None:
    rows = [
        row | {"in_crop": error == 0}
        for method in ("ssd-disparity", "zncc-disparity", "ssd-disparity@left")
        for error in (0, 9)
        for row in rows_of(method, "D1", 1, [error])
    ]
    found = {line.method: line for line in lines(pa.Table.from_pylist(rows, schema=SCHEMA))}
    assert found["ssd-disparity"].ours.mae == found["ssd-disparity@left"].ours.mae == 0
    assert found["zncc-disparity"].ours.mae == 4.5
    assert found["ssd-disparity"].title == "SSD Disparity †"
    assert found["ssd-disparity@left"].paper is None
    assert "† on patches inside" in to_markdown(list(found.values()), "x", "y")


def test_a_page_has_both_numbers_under_their_own_heads_and_the_best_tinted() -> None:
    table = to_page(lines(PREDICTIONS), Problem.STACK_GREEN, "A note.")
    assert [column.group for column in table.columns].count("ours") == 6
    assert [column.group for column in table.columns].count("the paper's, on its own data") == 6
    rows = {row[1].text: row for row in table.rows}
    best, worst = rows["local-norm-dist-sq-4"], rows["total-variation-l1"]
    assert [cell.tint for cell in best[3:9]] == ["second", "second", "second", "second", "second", "second"]
    assert [cell.tint for cell in worst[3:9]] == ["third"] * 6
    assert best[7].text == "2.500"
    assert best[7].hint == "2.500 to 2.500"  # one scene
    assert best[13].text == f"{paper.BIG_TABLE['local-norm-dist-sq-4'].mae:.3f}"
    assert [cell.text for cell in rows[ORACLE][9:]] == [""] * 6


def test_methods_are_ranked_beside_the_paper() -> None:
    keys = ["total-variation-l1", "intensity-variance", "laplacian-energy", "wavelet-sum-2"]
    predictions = pa.Table.from_pylist(
        [row for at, key in enumerate(keys) for row in rows_of(key, "I*", 0, [9 - 2 * at, 9 - 2 * at])],
        schema=SCHEMA,
    )
    assert rank_correlation(lines(predictions), Problem.STACK_GREEN) == pytest.approx(1.0)
    assert rank_correlation(lines(PREDICTIONS), Problem.STACK_GREEN) is None
