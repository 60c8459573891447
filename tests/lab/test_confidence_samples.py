"""Samples of confidence: who is asked of what."""

import pytest

pytest.importorskip("pyarrow")

from dioptre.confidence.model import LOOKS, POSTERIOR, SWEEP
from lab.confidence_samples import Trial, gather, scene_samples
from tests.marks import slow


def test_methods_are_asked_of_clean_and_of_faulty_sweeps() -> None:
    trial = Trial(1, 3, ("local-norm-dist-sq-4", "l2a-stack-green", "zncc-disparity"))
    found = scene_samples(trial, 0)
    assert set(found) >= {f"l2a-stack-green/{POSTERIOR}", f"zncc-disparity/{LOOKS}"}
    assert len(found[f"local-norm-dist-sq-4/{SWEEP}"]) == 4
    assert [one.clean for one in found[f"local-norm-dist-sq-4/{SWEEP}"]] == [True, False, False, False]
    assert len(found["local-norm-dist-sq-4/short"]) == 4


@slow
def test_all_scenes_are_gathered() -> None:
    trial, done = Trial(17, 3, ("intensity-variance",)), []
    found = gather(trial, None, lambda at, of: done.append((at, of)))
    assert done == [(1, 2), (2, 2)]
    assert {one.scene for one in found[f"intensity-variance/{SWEEP}"]} == {0, 1}
