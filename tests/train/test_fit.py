import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dioptre.problem import Problem
from dioptre.store.manifest import MANIFEST, WRITING
from dioptre.store.patches import PatchStore
from dioptre.train.dataloader import JoinedStores
from dioptre.train.fit import Progress, _rows, train
from dioptre.train.folder import BEST, TRAILS, open_run
from dioptre.train.inference import LazyInference
from dioptre.train.networks import NETWORKS
from dioptre.train.recipe import BuildsOn, Recipe, RunSettings
from dioptre.train.rollout import ask_network, roll_out
from tests.marks import slow, slow_but
from tests.train.conftest import write_store

TINY = Recipe(network="move", width=0.25, steps=6, batch=8, beta1=0.9, schedule="cosine", ema=0.9)
QUICK = RunSettings(validate_every=3, validate_patches=16)


class StopError(Exception):
    pass


def weights(run: Path) -> dict[str, torch.Tensor]:
    return torch.load(run / BEST, weights_only=True)


@slow
def test_a_tiny_network_learns(store: PatchStore, tmp_path: Path) -> None:
    recipe = replace(TINY, steps=400, batch=32, learning_rate=3e-3, ema=0.98, flips="both")
    seen: list[Progress] = []
    settings = RunSettings(validate_every=200, validate_patches=256)
    last = train([store.path], tmp_path / "run", recipe, settings, watch=seen.append)
    blind = math.log(7) - 1.0  # a network that knows nothing; labels are a little narrower at the ends
    assert last.loss < 0.75 * blind
    assert seen[-1].step == 400
    assert (tmp_path / "run" / MANIFEST).exists()
    assert open_run(tmp_path / "run").entries["data"] == [store.manifest["sha256"]]
    assert list((tmp_path / "run").glob("events.*"))


@pytest.mark.parametrize("network", slow_but(["looks"], ["one-hot", "move", "looks"]))
def test_a_stopped_run_goes_on_to_the_same_result(few: PatchStore, tmp_path: Path, network: str) -> None:
    recipe = replace(TINY, network=network)
    whole = train([few.path], tmp_path / "whole", recipe, QUICK)

    def stop(progress: Progress) -> None:
        if progress.step == 4:
            raise StopError

    with pytest.raises(StopError):
        train([few.path], tmp_path / "parts", recipe, QUICK, watch=stop)
    assert not (tmp_path / "parts" / MANIFEST).exists()
    assert train([few.path], tmp_path / "parts", recipe, QUICK) == whole
    for name, one in weights(tmp_path / "whole").items():
        assert torch.equal(one, weights(tmp_path / "parts")[name]), name


def test_a_run_is_not_resumed_with_something_else(few: PatchStore, tmp_path: Path) -> None:
    train([few.path], tmp_path / "run", TINY, QUICK)
    with pytest.raises(ValueError, match="finished already"):
        train([few.path], tmp_path / "run", TINY, QUICK)
    (tmp_path / "run" / MANIFEST).rename(tmp_path / "run" / WRITING)
    with pytest.raises(ValueError, match="cannot be resumed"):
        train([few.path], tmp_path / "run", replace(TINY, seed=1), QUICK)
    with pytest.raises(ValueError, match="not finished"):
        open_run(tmp_path / "run")


def test_patience_ends_a_run(few: PatchStore, tmp_path: Path) -> None:
    recipe = replace(TINY, steps=60, learning_rate=1e-9, ema=0.0)
    settings = RunSettings(validate_every=2, validate_patches=16, patience=2)
    steps: list[int] = []
    train([few.path], tmp_path / "run", recipe, settings, watch=lambda progress: steps.append(progress.step))
    assert steps[-1] < 60


def test_a_later_step_sees_what_the_one_before_chose(few: PatchStore, tmp_path: Path) -> None:
    first = replace(TINY, network="one-hot")
    train([few.path], tmp_path / "first", first, QUICK)
    infer = LazyInference(open_run(tmp_path / "first").network())
    ask = ask_network(infer, infer.device, 7, NETWORKS["one-hot"].decision)
    trails = roll_out(JoinedStores((few,)), [ask], 2)
    train([few.path], tmp_path / "second", first, QUICK, BuildsOn(after=(tmp_path / "first",)))
    np.testing.assert_array_equal(np.load(tmp_path / "second" / TRAILS), trails)


def test_weights_can_be_taken_over(few: PatchStore, tmp_path: Path) -> None:
    train([few.path], tmp_path / "move", TINY, QUICK)
    recipe = replace(TINY, network="looks", frozen=True)
    train([few.path], tmp_path / "looks", recipe, QUICK, BuildsOn(tmp_path / "move"))
    for name in ("encoder.stem.0.weight", "encoder.stem.1.running_mean"):
        assert torch.equal(weights(tmp_path / "looks")[f"alone.{name}"], weights(tmp_path / "move")[name])
    with pytest.raises(ValueError, match="--start-from"):
        train([few.path], tmp_path / "x", recipe, QUICK)
    with pytest.raises(ValueError, match="no weights"):
        train(
            [few.path],
            tmp_path / "x",
            replace(TINY, network="one-hot", width=0.5),
            QUICK,
            BuildsOn(tmp_path / "move"),
        )


def test_a_network_of_looks_learns_from_its_own_searches(few: PatchStore, tmp_path: Path) -> None:
    train([few.path], tmp_path / "move", TINY, QUICK)
    recipe = replace(TINY, network="looks", frozen=True)
    whole = train([few.path], tmp_path / "whole", recipe, QUICK, BuildsOn(tmp_path / "move"))

    def stop(progress: Progress) -> None:
        if progress.step == 4:
            raise StopError

    with pytest.raises(StopError):
        train([few.path], tmp_path / "parts", recipe, QUICK, BuildsOn(tmp_path / "move"), watch=stop)
    assert train([few.path], tmp_path / "parts", recipe, QUICK, BuildsOn(tmp_path / "move")) == whole


def test_a_network_comes_to_say_what_its_teacher_does(few: PatchStore, tmp_path: Path) -> None:
    train([few.path], tmp_path / "teacher", TINY, QUICK)
    network = open_run(tmp_path / "teacher").network()
    with torch.no_grad():  # this teacher always says: stay
        head = network.get_submodule("head.1")
        for one in (head.weight, head.bias):
            one.zero_()
        head.bias[6] = 9.0
    torch.save(network.state_dict(), tmp_path / "teacher" / BEST)
    taught = replace(TINY, distillation=1.0, steps=24, learning_rate=1e-2)
    train([few.path], tmp_path / "student", taught, QUICK, BuildsOn(teacher=tmp_path / "teacher"))
    stack = few.stack([3], [4])
    given = torch.from_numpy(stack.pixels), torch.tensor([[4]]), torch.zeros(1, 2), torch.ones(1, 2)
    assert open_run(tmp_path / "student").network()(*given)[0, 1:-1].argmax().item() == 4
    assert open_run(tmp_path / "student").lineage["teacher"]["recipe"]["network"] == "move"
    with pytest.raises(ValueError, match="cannot teach I1"):
        train(
            [few.path],
            tmp_path / "x",
            replace(taught, problem=Problem.SINGLE_GREEN),
            QUICK,
            BuildsOn(teacher=tmp_path / "teacher"),
        )
    assert not (tmp_path / "x").exists()


def test_an_auxiliary_head_is_learned_and_dropped(few: PatchStore, tmp_path: Path) -> None:
    plain, auxiliary = (replace(TINY, network="one-hot", auxiliary=weight) for weight in (0.0, 1.0))
    train([few.path], tmp_path / "plain", plain, QUICK)
    train([few.path], tmp_path / "student", auxiliary, QUICK)
    assert weights(tmp_path / "student").keys() == weights(tmp_path / "plain").keys()
    name = "blocks.0.layers.0.weight"
    assert not torch.equal(weights(tmp_path / "student")[name], weights(tmp_path / "plain")[name])


TWO = """
import sys, torch
from pathlib import Path
from dioptre.train.fit import train
from dioptre.train.networks import move
from dioptre.train.recipe import Recipe, RunSettings
torch.set_num_threads(1)
move.DROPOUT = 0.0
# Adam makes any tiny gradient a step of the same size; plain descent shows the gradient itself.
torch.optim.AdamW = lambda weights, lr, **_: torch.optim.SGD(weights, lr)
recipe = Recipe(network="move", width=0.25, steps=1, batch=8, learning_rate=1.0, ema=0.0)
train([Path(sys.argv[1])], Path(sys.argv[2]), recipe, RunSettings(validate_every=1, validate_patches=8))
"""


@slow
def test_two_processes_learn_what_one_does(store: PatchStore, tmp_path: Path) -> None:
    script = tmp_path / "two.py"
    script.write_text(TWO)
    subprocess.run([sys.executable, str(script), str(store.path), str(tmp_path / "one")], check=True)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "USE_LIBUV": "0"}
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, str(script), str(store.path), str(tmp_path / "two")]
    subprocess.run(command, check=True, env=environment, capture_output=True)
    one, two = weights(tmp_path / "one"), weights(tmp_path / "two")
    start = NETWORKS["move"].build(7, 2, 0.25).state_dict()
    moved = max(float((value - start[name]).abs().max()) for name, value in one.items())
    assert moved > 0.05
    for name, value in one.items():
        if "num_batches" not in name:
            torch.testing.assert_close(two[name], value, atol=1e-4, rtol=1e-3)


def test_patches_with_nothing_to_focus_on_are_learned_from_and_not_validated_on(tmp_path: Path) -> None:
    focusable = [at not in (2, 4) for at in range(8)]
    stores = JoinedStores((write_store(tmp_path / "some", 8, 1, focusable=list(focusable)),))
    assert _rows(stores, "train").tolist() == [1, 2, 3, 5, 6, 7]
    assert _rows(stores, "validation").tolist() == [0]
