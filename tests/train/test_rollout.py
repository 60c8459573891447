from pathlib import Path

import numpy as np
import torch
from torch import nn

from dioptre.autofocus.search import LOOKS_APART, Ask
from dioptre.posterior import BEYOND, Decision, sides_of
from dioptre.store.patches import PatchStore
from dioptre.train.cache import FeatureCache, cache_features
from dioptre.train.dataloader import JoinedStores
from dioptre.train.inference import LazyInference
from dioptre.train.networks.looks import CombineLooks, LookFeatures, LooksNet
from dioptre.train.networks.one_hot import OneHotNet
from dioptre.train.rollout import Given, ask_network, roll_out
from tests.train.conftest import write_store

CPU = torch.device("cpu")
NO_PLACE = torch.zeros(1, 2), torch.ones(1, 2)


def asked(network: nn.Module) -> Ask[Given]:
    return ask_network(LazyInference(network), CPU, 7, Decision.MODE)


def test_networks_look_where_the_one_before_answered(tmp_path: Path) -> None:
    torch.manual_seed(1)
    store = write_store(tmp_path / "few", 24, seed=4)
    one, two = OneHotNet(7, 2, 0.25).eval(), OneHotNet(7, 2, 0.25).eval()
    told: list[tuple[int, int]] = []
    trails = roll_out(
        JoinedStores((store,)), [asked(one), asked(two)], 2, done=lambda at, of: told.append((at, of))
    )
    assert trails.shape == (len(store), 7, 3)
    assert told[-1] == (len(store), len(store))
    for patch in (0, 5, 17, 23):  # the walk as a plain loop
        for start in range(7):
            looks = [start]
            for network in (one, two):
                stack = store.stack([patch], looks)
                with torch.no_grad():
                    logits = network(torch.from_numpy(stack.pixels), torch.tensor([looks]), *NO_PLACE)
                looks.append(int(logits.argmax()))
            assert trails[patch, start].tolist() == looks


def test_looks_of_a_search_are_apart_as_a_slow_loop_says(store: PatchStore) -> None:
    torch.manual_seed(2)
    source, network = JoinedStores((store,)), LooksNet(7, 2, 0.25).eval()
    nn.init.normal_(network.head.weight, 0, 0.2)
    rows = np.arange(len(store))[:4]
    features = cache_features(source, LookFeatures(network), rows, 2)[:4]
    cache = FeatureCache(features, source.where[:4])
    combine = CombineLooks(network).eval()
    trails = roll_out(cache, [ask_network(combine, CPU, 7)] * 2, 2, LOOKS_APART)
    for patch in range(4):
        for start in range(7):
            looks = [start]
            for _ in range(2):
                seen = torch.from_numpy(features[patch, looks].astype(np.float32))[None]
                with torch.no_grad():
                    logits = combine(seen, torch.tensor([looks]), *NO_PLACE)[0].double()
                far, *rest, near = torch.softmax(logits, dim=0)
                ladder = torch.stack(rest)
                if max(far, near) >= BEYOND:  # what is clearly beyond an end counts for it
                    ladder[0] += far
                    ladder[-1] += near
                ladder = ladder / ladder.sum()
                side = max(sides_of(ladder.numpy()), key=lambda ends: float(ladder[slice(*ends)].sum()))
                costs = [float(sum(ladder[j] * abs(i - j) for j in range(*side))) for i in range(7)]
                away = [min(abs(i - look) for look in looks) for i in range(7)]
                allowed = [i for i in range(7) if away[i] >= min(LOOKS_APART, max(away))]
                looks.append(min(allowed, key=lambda i: costs[i]))
            assert trails[patch, start].tolist() == looks
