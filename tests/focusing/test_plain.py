"""What JSON can say."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from dioptre.confidence.reasons import State
from dioptre.focusing.focus import focus
from dioptre.focusing.plain import to_plain
from dioptre.focusing.result import Roi
from dioptre.focusing.trace import Act, Step


def test_numbers_are_finite_or_none() -> None:
    numbers = [1.5, math.nan, np.float32(-np.inf), np.array([[2.0, np.inf]]), True, 3, np.int64(4)]
    assert to_plain(numbers) == [1.5, None, None, [[2.0, None]], True, 3, 4]


def test_what_json_has_no_word_for_becomes_a_list_or_a_string() -> None:
    values = {"roi": Roi(1, 2, 3, 4), "state": State.FOCUSED, "path": Path("a"), "none": None, 5: ()}
    plain = {"roi": [1, 2, 3, 4], "state": "focused", "path": "a", "none": None, "5": []}
    assert to_plain(values) == plain
    assert type(to_plain(State.FOCUSED)) is str


def test_a_result_whose_numbers_are_not_finite_is_json() -> None:
    step = Step(Act.LOOK, 3, math.inf, "um", 0.1, 0.1, score=-math.inf, confidence=math.nan)
    result = focus(np.random.default_rng(0).random((5, 32, 32)))
    verdict = replace(result.verdict, risk=math.inf, expected_error=math.inf, confidence=math.nan)
    result = replace(result, trace=(step,), verdict=verdict, left_at=math.nan)
    plain = json.loads(json.dumps(result.to_json(full=True), allow_nan=False))
    for name in ("risk", "expected_error", "confidence", "left_at"):
        assert plain[name] is None
    assert (plain["trace"][0]["position"], plain["trace"][0]["score"]) == (None, None)
