"""How an answer is read off a posterior of which a part lies beyond the ladder."""

import numpy as np
import pytest

from dioptre.posterior import BEYOND, Decision, Posterior


def posterior(probabilities: list[float], decision: Decision) -> Posterior:
    with np.errstate(divide="ignore"):
        return Posterior(np.log(np.array([probabilities])), decision)


@pytest.mark.parametrize("decision", list(Decision))
def test_an_answer_is_on_the_ladder_until_the_focus_is_clearly_beyond(decision: Decision) -> None:
    side = posterior([0.0, 0.0, 0.3, 0.05, 0.0, 0.0, 0.65], decision)  # one green look near the near end
    assert side.scores().argmax() == 1
    clear = posterior([0.0, 0.0, 0.03, 0.02, 0.0, 0.0, 0.95], decision)
    assert clear.beyond_near[0] >= BEYOND
    assert clear.scores().argmax() == 4
    nowhere = posterior([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.5], decision)
    assert nowhere.scores().argmax() in (0, 4)


def test_what_is_beyond_counts_for_the_end_only_if_it_is_believed() -> None:
    near = posterior([0.0, 0.0, 0.3, 0.1, 0.0, 0.0, 0.6], Decision.MEDIAN)
    np.testing.assert_allclose(near.reachable, [[0.0, 0.75, 0.25, 0.0, 0.0]])
    far = posterior([0.92, 0.0, 0.08, 0.0, 0.0, 0.0, 0.0], Decision.MEDIAN)
    np.testing.assert_allclose(far.reachable, [[0.92, 0.08, 0.0, 0.0, 0.0]])
