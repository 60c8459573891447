"""The paper's tables: all rows are there, and they agree with arithmetic and with each other.

The checks of arithmetic are there to catch a slip in copying.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from dioptre.evaluate.metrics import Metrics
from dioptre.evaluate.paper import (
    BIG_TABLE,
    CENTRE_CROP,
    LEFT_CAMERA,
    LIGHT_AND_DARK,
    MULTI_STEP,
    REGISTERED,
)

KEYS = list(BIG_TABLE)
GROUPS = {"I*": KEYS[:38], "D*": KEYS[38:47], "D1": KEYS[47:51], "I1": KEYS[51:]}
TABLES: dict[str, Mapping[Any, Metrics]] = {
    "big": BIG_TABLE,
    "multi-step": MULTI_STEP,
    "registered": REGISTERED,
    "left": LEFT_CAMERA,
    "light and dark": LIGHT_AND_DARK,
}
ROWS = {f"{table} {key}": row for table, rows in TABLES.items() for key, row in rows.items()}
MISPRINTS = {"big l2a-single-green", "multi-step ('l2a-single-green', 1)"}
ROUNDING = 0.0005  # of every printed number

every_row = pytest.mark.parametrize("name", ROWS)


def falls(rows: Iterable[Metrics]) -> bool:
    return all(worse.rmse >= better.rmse for worse, better in itertools.pairwise(rows))


def test_every_table_has_all_its_rows() -> None:
    assert len(BIG_TABLE) == 37 + 1 + 8 + 1 + 3 + 1 + 1
    assert (len(MULTI_STEP), len(REGISTERED), len(LEFT_CAMERA), len(LIGHT_AND_DARK)) == (8, 8, 4, 8)


def test_our_models_close_their_groups() -> None:
    learned = {problem: keys[-1] for problem, keys in GROUPS.items()}
    assert learned == {
        "I*": "l2a-stack-green",
        "D*": "l2a-stack-dp",
        "D1": "l2a-single-dp",
        "I1": "l2a-single-green",
    }
    assert [key for key in KEYS if key.startswith("l2a-")] == list(learned.values())
    assert GROUPS["D*"][0] == "normalized-sad"
    assert GROUPS["D1"][:3] == ["zncc-disparity", "ssd-disparity", "learned-depth"]


def test_numbers_quoted_in_the_papers_text() -> None:
    assert BIG_TABLE["l2a-single-dp"].rmse == 3.112
    assert BIG_TABLE["learned-depth"].rmse == 11.351
    assert (BIG_TABLE["l2a-single-dp"].mae, BIG_TABLE["learned-depth"].mae) == (2.235, 7.176)
    assert (BIG_TABLE["l2a-stack-green"].mae, BIG_TABLE["local-norm-dist-sq-4"].mae) == (1.600, 2.059)


@pytest.mark.parametrize("problem", GROUPS)
def test_the_rmse_falls_within_each_problem(problem: str) -> None:
    assert falls(BIG_TABLE[key] for key in GROUPS[problem])


def test_which_of_the_small_tables_are_sorted() -> None:
    """The paper sorts the registered and the dark rows by RMSE, the left and the light ones not."""
    light = [row for (_, setting), row in LIGHT_AND_DARK.items() if setting == "light"]
    dark = [row for (_, setting), row in LIGHT_AND_DARK.items() if setting == "dark"]
    assert falls(REGISTERED.values())
    assert falls(dark)
    assert not falls(LEFT_CAMERA.values())
    assert not falls(light)


@every_row
def test_a_row_is_possible(name: str) -> None:
    row = ROWS[name]
    shares = row.numbers[:4]
    assert list(shares) == sorted(shares)
    assert 0 < shares[0] < shares[3] < 1
    assert row.count is None
    assert row.mae < row.rmse < 48
    # E|e| is the sum over k >= 0 of P(|e| > k), and P(|e| > 3) >= P(|e| > 4).
    least = (1 - row.exact) + (1 - row.within_1) + (1 - row.within_2) + 2 * (1 - row.within_4)
    assert row.mae >= least - 6 * ROUNDING


@every_row
def test_an_error_of_2_is_rarer_than_an_error_of_1_but_for_the_misprint(name: str) -> None:
    row = ROWS[name]
    rarer = row.within_2 - row.within_1 <= row.within_1 - row.exact + 4 * ROUNDING
    assert rarer == (name not in MISPRINTS)


def test_the_misprint_is_as_printed() -> None:
    assert BIG_TABLE["l2a-single-green"].within_2 == 0.597
    assert MULTI_STEP["l2a-two-step-green", 2].within_2 == 0.567


def test_first_steps_are_the_rows_of_the_big_table() -> None:
    first = {key: row for (key, steps), row in MULTI_STEP.items() if steps == 1}
    assert list(first) == ["zncc-disparity", "learned-depth", "l2a-single-dp", "l2a-single-green"]
    assert all(row == BIG_TABLE[key] for key, row in first.items())


def test_a_second_step_helps_in_every_number_but_the_misprint() -> None:
    rows = list(MULTI_STEP.values())
    worse = [
        (first.numbers[column], second.numbers[column])
        for first, second in zip(rows[::2], rows[1::2], strict=True)
        for column in range(6)
        if (second.numbers[column] > first.numbers[column]) != (column < 4)
    ]
    assert worse == [(0.597, 0.567)]


@pytest.mark.parametrize("key", [key for key, setting in LIGHT_AND_DARK if setting == "light"])
def test_darkness_hurts_every_method(key: str) -> None:
    light, dark = LIGHT_AND_DARK[key, "light"], LIGHT_AND_DARK[key, "dark"]
    assert light.exact > dark.exact
    assert light.mae < dark.mae
    assert light.rmse < dark.rmse


def test_the_cropped_methods_are_rows_of_problem_d1() -> None:
    assert set(GROUPS["D1"]) > CENTRE_CROP
