import pytest

from dioptre.cli.console import LINES_APART_S, ProgressLines, format_duration


def test_off_a_terminal_lines_say_how_far_a_job_is(capsys: pytest.CaptureFixture[str]) -> None:
    times = iter([0.0, 1.0, 10.0, LINES_APART_S + 1, LINES_APART_S + 2, 2 * LINES_APART_S + 2])
    lines = ProgressLines("simulating", lambda: next(times))
    for done in (100, 110, 162, 164, 224):  # an earlier run had done a hundred
        lines(done, 1000)
    assert capsys.readouterr().err.splitlines() == [
        "simulating: 162 of 1000, about 7 min left",
        "simulating: 224 of 1000, about 6 min left",
    ]


def test_a_job_that_follows_another_is_timed_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    apart = LINES_APART_S
    times = iter([0.0, 0.0, apart + 1, apart + 1, 2 * apart + 1])
    lines = ProgressLines("demo", lambda: next(times))
    for done, total in ((0, 48), (48, 48), (0, 60), (30, 60)):
        lines(done, total)
    assert capsys.readouterr().err.splitlines() == [
        "demo: 48 of 48, about 0 s left",
        "demo: 30 of 60, about 30 s left",
    ]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(4.2, "4 s"), (99.0, "99 s"), (150.0, "2 min"), (5400.0, "90 min"), (12600.0, "3.5 h")],
)
def test_a_time_is_said_as_people_do(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said
