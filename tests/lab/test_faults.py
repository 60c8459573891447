"""The fault bench: what it counts, and that it runs."""

import pytest

pytest.importorskip("pyarrow")

from lab.faults import ALL, DECIDABLE, Ask, Job, Outcome, run, table
from tests.marks import slow


def outcome(
    fault: str, error: int | None, focused: bool, confidence: float, decidable: bool = True
) -> Outcome:
    return Outcome(fault, "mine@0", error, focused, confidence, 0.0, 0.0, (), decidable)


def test_an_answer_is_false_if_it_is_trusted_and_a_miss() -> None:
    assert outcome("jpeg", 5, True, 0.9).false
    assert outcome("blank-wall", None, True, 0.9).false
    assert not outcome("jpeg", 4, True, 0.9).false
    assert not outcome("jpeg", 9, False, 0.9).false


def test_faults_are_pooled_with_and_without_those_that_cannot_be_decided() -> None:
    some = [
        outcome("clean", 0, True, 0.9),
        outcome("clean", 9, True, 0.2),
        outcome("told-wrong", 12, True, 0.9, decidable=False),
    ]
    found = {line.fault: line for line in table(some)}
    assert list(found) == ["clean", "told-wrong", DECIDABLE, ALL]
    assert (found["clean"].false, found["clean"].auroc) == (0.5, 1.0)
    assert found[DECIDABLE].count == 2
    assert found[ALL].false == pytest.approx(2 / 3)
    assert not found["told-wrong"].decidable


@pytest.mark.parametrize(
    ("text", "looks"),
    [("local-norm-dist-sq-4", 0), ("dioptre-any-dp", 3), ("dioptre-any-dp@2", 2), ("zncc-disparity", 1)],
)
def test_a_method_is_asked_with_as_many_looks_as_it_takes(text: str, looks: int) -> None:
    assert Ask.parse(text) == Ask(text.partition("@")[0], looks)


@slow
def test_the_bench_runs() -> None:
    asks = (Ask("local-norm-dist-sq-4", 0), Ask("zncc-disparity", 1))
    job = Job(1, ("clean", "blank-wall", "told-wrong"), asks, 1, 0.01, "any")
    found = run(job, 1, lambda *_: None)
    assert [(one.fault, one.method) for one in found] == [
        ("clean", "local-norm-dist-sq-4@0"),
        ("clean", "zncc-disparity@1"),
        ("blank-wall", "local-norm-dist-sq-4@0"),
        ("blank-wall", "zncc-disparity@1"),
        ("told-wrong", "zncc-disparity@1"),  # a whole stack is not told where it was
    ]
    walls = [one for one in found if one.fault == "blank-wall"]
    assert not any(one.focused for one in walls)
    assert all(one.error is None for one in walls)
