"""Evidence: what speaks for an answer and against it, as named numbers of about the same size.

There is evidence in a curve's shape, in a posterior, and in the pictures of a sweep or of a few looks
(`confidence.sweep_statistics`). What each is worth is not said here but fitted (`confidence.model`); so each
number only has to rise or fall with the chance that the answer is wrong. Which of both it does is said
(DIRECTIONS), so that what is unusually good never makes an answer doubtful, whatever camera it comes from.
"""

from collections.abc import Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from dioptre.confidence.curve import Curve, CurveNoise, Tiles, smoothed, vote
from dioptre.confidence.sweep_statistics import LAGS, Traces
from dioptre.posterior import Posterior

Evidence = Mapping[str, float]

MOST: Final = 9.0  # no number says more
FLOOR: Final = 0.02  # of the detail in focus: noise below this does not matter, however it changes
SAME: Final = 1e-6  # of a slice's detail: what two pictures differ by that are one

WORSE, BETTER = 1, -1
# What an answer is the more doubtful for, and what the less; of the rest, either may be.
DIRECTIONS: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        (
            "rough", "tiles-disagree", "spike", "width", "base", "rival", "at-edge", "tiles-astray",
            "near", "beside", "expected", "entropy", "beyond", "flicker", "light-jump", "darkest", "blocks",
            "subject-astray-2", "subject-astray-4", "subject-astray-8",
            "parts-astray", "parts-apart", "parts-aside", "vote-astray", "parts-vote-astray",
            "noise-here", "noise-range", "noise-jump", "repeated", "unlike", "mostly-unlike", "unlike-here",
            "balance", "view-exchanged", "view-turned", "look-turned", "light-range", "view-against",
        ),
        WORSE,
    ),
    **dict.fromkeys(
        (
            "rise", "lower-rise", "edge", "tiles-near", "parts-detail", "parts-near", "parts-area",
            "looks", "contrast", "vote-height", "parts-vote-height",
            "subject-2", "subject-4", "subject-8", "height-2", "height-4", "height-8",
            "contrast-2", "contrast-4", "contrast-8",
        ),
        BETTER,
    ),
}  # fmt: skip
FINEST, FINE, MIDDLE, COARSE = range(len(LAGS))  # lags
WIDE: Final = 1 / 8  # of the ladder: so far from focus, detail changes little from slice to slice


def _log(value: float, least: float = 1e-4) -> float:
    """Returns a logarithm that neither nought nor infinity breaks."""
    return float(np.clip(np.log(max(value, least)), -MOST, MOST)) if np.isfinite(value) else MOST


def _logit(chance: float) -> float:
    return _log(chance, 1e-9) - _log(1 - chance, 1e-9)


# A curve


def curve_evidence(curve: Curve, tiles: Tiles | None, noise: CurveNoise) -> Evidence:
    """Returns what the shape of a curve scaled to 0..1 says.

    Args:
        curve: A score for each slice.
        tiles: Those of parts of the region, if it was cut.
        noise: The curve's.
    """
    peak, n = int(curve.argmax()), len(curve)
    before, after = curve[:peak][::-1], curve[peak + 1 :]
    needed = max(noise.needed_rise(n), 1e-6)
    rises = [1 - float(side.mean()) if side.size else 0.0 for side in (before, after)]
    beside = [float(side[0]) for side in (before, after) if side.size]
    broad = float(np.sum(curve > 0.5))
    return {
        "rise": _log(max(rises) / needed),
        "lower-rise": _log(min(rises) / needed, 1e-2),
        "rough": _log(noise.total),
        "tiles-disagree": _log(noise.disagreement if noise.disagreement is not None else noise.total),
        "spike": 1 - max(beside),
        "bend": _log(2 - sum(beside) / len(beside) * 2),
        "width": _log(broad / n),
        "width-slices": _log(broad),
        "base": float(np.median(curve)),
        "rival": max(_climb(before), _climb(after)),
        "edge": _log((min(peak, n - 1 - peak) + 0.5) / n),
        "at-edge": float(peak in (0, n - 1)),
        **_tile_evidence(curve, tiles),
    }


def _climb(side: Float[np.ndarray, " _"]) -> float:
    """Returns how far a curve climbs again on one side of its peak, out of the deepest valley on the way."""
    return float((side - np.minimum.accumulate(side)).max()) if side.size else 0.0


def _tile_evidence(curve: Curve, tiles: Tiles | None) -> Evidence:
    """Returns how far the tiles' peaks are from the curve's, the tiles that vary most counting most."""
    n = len(curve)
    sound = None if tiles is None else tiles[np.isfinite(tiles).all(axis=1)]
    if sound is None or len(sound) == 0:
        return {"tiles-astray": 0.0, "tiles-near": 0.5}
    away = np.abs(sound.argmax(axis=1) - curve.argmax())
    ranges = np.ptp(sound, axis=1)
    weights = ranges / ranges.sum() if ranges.any() else np.full(len(sound), 1 / len(sound))
    near = float(weights[away <= max(1, round(n / 12))].sum())
    return {
        "tiles-astray": _log(float(weights @ away) / n + 0.01),
        "tiles-near": near,
        **_vote_evidence("vote", sound, int(curve.argmax())),
    }


def _vote_evidence(name: str, tiles: Tiles, answer: int) -> Evidence:
    """Returns how far the answer is from what most parts agree on, and how many agree on it."""
    voted = vote(tiles)
    if voted is None or np.ptp(voted) == 0:
        return {}
    away = abs(int(voted.argmax()) - answer) / len(voted)
    height = (voted[min(answer, len(voted) - 1)] - voted.min()) / np.ptp(voted)
    return {f"{name}-astray": _log(away + 0.01), f"{name}-height": float(height)}


# A posterior


def posterior_evidence(posterior: Posterior, answer: int, reach: int) -> Evidence:
    """Returns what the posterior of one scene says of its answer.

    Args:
        posterior: Of one scene.
        answer: The position that was read off it.
        reach: Indices that count as near.
    """
    ladder, n = posterior.ladder[0], posterior.positions
    away = np.abs(np.arange(n) - answer)
    chances = posterior.held[0]
    return {
        "near": -_logit(float(min(ladder[away <= reach].sum(), 1.0))),
        "beside": -_logit(float(min(ladder[away <= 1].sum(), 1.0))),
        "expected": _log(float(posterior.expected_error()[0, answer]), 1e-2),
        "entropy": float(-np.sum(chances * np.log(np.maximum(chances, 1e-12)))),
        "beyond": float(posterior.beyond_far[0] + posterior.beyond_near[0]),
        "edge": _log((min(answer, n - 1 - answer) + 0.5) / n),
    }


# Pictures


@lru_cache(maxsize=256)  # many methods give the same answer to a sweep
def sweep_evidence(traces: Traces, answer: int, flat: tuple[int, int] | None = None) -> Evidence:
    """Returns what the pictures of a whole sweep say of an answer, which is one of its slices.

    Args:
        traces: Of the sweep.
        answer: A slice.
        flat: The first and the last of the slices that are as sharp as the answer, if there are such: all
            are right, and which of them a part prefers is noise.
    """
    if len(traces.mean) < 3:
        return {}
    light = np.diff(np.log(np.maximum(traces.mean, 1e-6)))
    found = {
        **_peak_evidence(traces, answer),
        **_noise_evidence(traces, answer),
        **_parts_evidence(traces, answer, flat),
        "flicker": _log(float(np.median(np.abs(light))), 1e-3),
        "light-jump": _log(float(np.abs(light).max()), 1e-3),
        "darkest": -_log(float(traces.mean.min() / max(np.median(traces.mean), 1e-6)), 1e-3),
        "blocks": traces.blocks,
        **(_view_evidence(traces) if traces.views == 2 else {}),
    }
    return MappingProxyType(found)


def _peak_evidence(traces: Traces, answer: int) -> Evidence:
    """Returns whether what slices have in common peaks where the answer is, and out of the noise."""
    found, n = {}, len(traces.mean)
    for lag in (FINE, MIDDLE, COARSE):
        subject = traces.subject(lag)
        smooth = smoothed(subject)
        base, top = float(np.median(smooth)), float(smooth.max())
        noise = float(np.median(traces.noise(lag)))
        away = abs(int(smooth.argmax()) - answer)
        name = LAGS[lag]
        found[f"subject-astray-{name}"] = _log(away / n + 0.01)
        found[f"subject-{name}"] = _log((top - base) / noise, 1e-3)
        found[f"height-{name}"] = (float(smooth[answer]) - base) / max(top - base, 1e-12)
        found[f"contrast-{name}"] = _log(top / max(float(smooth.min()), 1e-12))
    return {name: float(np.clip(value, -MOST, MOST)) for name, value in found.items()}


def _parts_evidence(traces: Traces, answer: int, flat: tuple[int, int] | None) -> Evidence:
    """Returns where the parts of the picture are sharp: how many near the answer, and how far apart they are.

    A part counts as its detail stands out of the noise.
    """
    tiles = traces.tiles
    if flat is not None and flat[1] > flat[0]:  # one pair of slices stands for all on the plateau
        first, last = flat
        best = tiles[:, first:last].max(axis=1, keepdims=True)
        tiles, answer = np.concatenate([tiles[:, :first], best, tiles[:, last:]], axis=1), first
    n = tiles.shape[1] + 1
    noise = max(float(np.median(traces.noise(MIDDLE))), 1e-12)
    smooth = smoothed(tiles)
    peaks = smooth.argmax(axis=1) + 0.5
    heights = np.maximum(smooth.max(axis=1) - np.median(tiles, axis=1), 0.0) / noise
    weights = np.log1p(heights) + 1e-3
    low, middle, high = _weighted_quantiles(peaks, weights, (0.2, 0.5, 0.8))
    away, area = np.abs(peaks - answer), heights / (1 + heights) + 1e-3
    return {
        "parts-astray": _log(abs(middle - answer) / n + 0.01),
        "parts-apart": _log((high - low) / n + 0.01),
        "parts-detail": float(weights.mean()),
        "parts-near": float(weights @ (away <= n / 12) / weights.sum()),
        "parts-area": float(area @ (away <= n / 12) / area.sum()),
        "parts-aside": float(area @ (away > n / 8) / len(area)),
        **_vote_evidence("parts-vote", tiles, answer),
    }


def _weighted_quantiles(
    values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], shares: tuple[float, ...]
) -> list[float]:
    """Returns the values below which lie these shares of the weight."""
    order = np.argsort(values)
    upto = np.cumsum(weights[order])
    places = np.searchsorted(upto, np.array(shares) * upto[-1])
    return [float(values[order[min(place, len(order) - 1)]]) for place in places]


def _noise_evidence(traces: Traces, answer: int) -> Evidence:
    """Returns whether the noise stays the same, and slices follow from their neighbours."""
    n = len(traces.mean)
    raw, detail = traces.noise(FINEST), traces.detail[FINEST]
    least = FLOOR * max(float(traces.common[FINEST].max()), 0.0)
    noise = np.log(raw + least)
    same = raw <= SAME * np.maximum(detail[:-1], detail[1:])
    usual = float(np.median(noise))
    focus = int(traces.subject(MIDDLE).argmax())
    away = np.abs(np.arange(n - 1) + 0.5 - focus) > WIDE * n
    aside = noise[away] if away.sum() >= 3 else noise
    alike = traces.likeness(COARSE)
    near = slice(max(0, answer - 2), answer + 2)
    return {
        "noise-here": float(
            np.clip(np.log(traces.unshared(FINEST)[near] + least).max() - usual, -MOST, MOST)
        ),
        "noise-range": float(np.clip(np.ptp(np.quantile(aside, (0.05, 0.95))), 0, MOST)),
        "noise-jump": float(np.clip(np.abs(np.diff(aside)).max(), 0, MOST)),
        "repeated": MOST * float(np.mean(same)),
        "unlike": float(1 - alike.min()),
        "mostly-unlike": float(1 - np.median(alike)),
        "unlike-here": float(1 - traces.likeness(FINE)[near].min()),
    }


def _view_evidence(traces: Traces) -> Evidence:
    """Returns whether the right view moves to the right, and not down, as the focus comes nearer."""
    along = np.linspace(-1, 1, len(traces.mean))
    right, down = (
        float(np.clip(along @ one / (along @ along), -4, 4)) for one in (traces.right, traces.down)
    )
    return {
        "balance": float(np.abs(np.median(traces.balance))),
        "view-exchanged": -right,
        "view-turned": _log((abs(down) + 0.05) / (abs(right) + 0.05)),
    }


def look_evidence(traces: Traces, positions: Int[np.ndarray, " look"], answer: int, n: int) -> Evidence:
    """Returns what the pictures of a few looks say of an answer.

    Args:
        traces: Of the looks.
        positions: Where they were taken.
        answer: Where the lens is to go.
        n: Positions of the ladder.
    """
    detail = np.log(traces.detail + 1e-9)
    last = int(np.argmin(np.abs(positions - answer)))  # the look that is nearest to the answer
    move = (answer - int(positions[last])) / n
    light = np.log(np.maximum(traces.mean, 1e-6))
    return {
        "looks": float(np.log(len(positions))),
        "light": float(light.mean()),
        "light-range": float(np.clip(np.ptp(light), 0, 3)),
        "detail": float(detail[FINEST, last]),
        **{f"detail-{LAGS[lag]}": float(detail[lag, last] - detail[lag - 1, last]) for lag in (1, 2, 3)},
        "contrast": float(detail[COARSE, last] - 2 * light[last]),
        "move": _log(abs(move) + 0.02),
        "towards": move,
        "blocks": traces.blocks,
        **({} if traces.views == 1 else _look_view_evidence(traces, last, move)),
    }


def _look_view_evidence(traces: Traces, look: int, move: float) -> Evidence:
    """Returns what the shift between the views of a look says of a move from there."""
    right, down = float(traces.right[look]), float(traces.down[look])
    return {
        "balance": float(np.abs(traces.balance[look])),
        "view-shift": _log(abs(right) + 0.05),
        "look-turned": _log((abs(down) + 0.05) / (abs(right) + 0.05)),
        "view-against": float(np.clip(right, -1, 1) * np.sign(move)),
    }
