"""The methods: what makes a focal stack into a score for each lens position.

METHODS is one literal table. It feeds the command line, the tables, the tests and the docs.

    base      Autofocuser, Family, Method, Problem
    measure   statistics, measures, and their evaluation on patches
    contrast  the 37 contrast measures (I*)
    stereo    the 8 dual-pixel measures (D*)
    tiles     parts of a picture, scored as pictures of their own
    voting    a method whose parts vote
    matching  disparity between the left and the right view
    calibration  what turns disparity into a focus, as data
    disparity  the single-look baselines that do
    depth_network  learned depth, fitted to disparity
    learned   networks in ONNX files; those that come with the package are in dioptre/weights
    frame     all patches of a whole frame at once
    kernels   what runs in the inner loops, by subject
"""

import difflib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Shaped

from dioptre.errors import InputError, MethodError
from dioptre.methods.base import ANY, WHOLE, Autofocuser, Family, Method, best_index
from dioptre.methods.calibration import find_calibration
from dioptre.methods.contrast import ContrastFamily
from dioptre.methods.disparity import AT, DisparityFamily
from dioptre.methods.learned import NETWORK, LearnedFamily
from dioptre.methods.stereo import StereoFamily
from dioptre.methods.voting import VOTES_BY, VotingFamily, ballots
from dioptre.posterior import Scores
from dioptre.problem import Problem
from dioptre.stack import FocalStack, stack_of_array

__all__ = ["METHODS", "Autofocuser", "Method", "Problem", "Scores", "best_index", "find_method", "scores"]

CONTRAST, STEREO, LEARNED, DISPARITY = ContrastFamily(), StereoFamily(), LearnedFamily(), DisparityFamily()
VOTING = VotingFamily()


def _contrast(key: str, title: str, source: str, in_paper: bool = True) -> Method:
    return Method(key, title, Problem.STACK_GREEN, CONTRAST, source, in_paper)


def _stereo(key: str, title: str, source: str) -> Method:
    return Method(key, title, Problem.STACK_DUAL_PIXEL, STEREO, source)


def _disparity(key: str, title: str, source: str, in_paper: bool = True) -> Method:
    return Method(key, title, Problem.SINGLE_DUAL_PIXEL, DISPARITY, source, in_paper, looks=1, again=True)


def _learned(key: str, title: str, problem: Problem, looks: int, after: str = "") -> Method:
    ours = key.startswith("dioptre-")
    return Method(key, title, problem, LEARNED, "ours" if ours else "paper", not ours, looks, after)


# In the order of the paper's big table; our own after the paper's.
_ROWS: Final = (
    _contrast("dct-reduced-energy-ratio", "DCT Reduced Energy Ratio", "Lee 2009"),
    _contrast("total-variation-l1", "Total Variation (L1)", "Nanda 2001, Rudin 1992"),
    _contrast("histogram-entropy", "Histogram Entropy", "Krotkov 1988"),
    _contrast("modified-dct", "Modified DCT", "Lee 2008"),
    _contrast("gradient-count-3", "Gradient Count (t = 3)", "Krotkov 1988"),
    _contrast("gradient-count-10", "Gradient Count (t = 10)", "Krotkov 1988"),
    _contrast("dct-energy-ratio", "DCT Energy Ratio", "Shen 2006"),
    _contrast("eigenvalue-trace", "Eigenvalue Trace", "Wee 2007"),
    _contrast("intensity-variance", "Intensity Variance", "Krotkov 1988"),
    _contrast("intensity-coefficient-of-variation", "Intensity Coefficient of Variation", "Krotkov 1988"),
    _contrast("percentile-range-3", "Percentile Range (p = 3)", "Santos 1997"),
    _contrast("percentile-range-1", "Percentile Range (p = 1)", "Santos 1997"),
    _contrast("percentile-range-0.3", "Percentile Range (p = 0.3)", "Santos 1997"),
    _contrast("total-variation-l2", "Total Variation (L2)", "Rudin 1992"),
    _contrast("modified-laplacian", "Sum of Modified Laplacian", "Nayar 1994"),
    _contrast("diagonal-laplacian", "Diagonal Laplacian", "Thelen 2009"),
    _contrast("laplacian-energy", "Laplacian Energy", "Subbarao 1993"),
    _contrast("laplacian-variance", "Laplacian Variance", "Pech-Pacheco 2000"),
    _contrast("local-log-ratio-1", "Mean Local Log-Ratio (σ = 1)", "paper"),
    _contrast("local-ratio-1", "Mean Local Ratio (σ = 1)", "Helmli 2001"),
    _contrast("local-norm-dist-sq-1", "Mean Local Norm-Dist-Sq (σ = 1)", "paper"),
    _contrast("wavelet-sum-2", "Wavelet Sum (ℓ = 2)", "Yang 2003"),
    _contrast("gradient-magnitude-mean", "Mean Gradient Magnitude", "Tenenbaum 1971"),
    _contrast("wavelet-variance-2", "Wavelet Variance (ℓ = 2)", "Yang 2003"),
    _contrast("gradient-magnitude-variance", "Gradient Magnitude Variance", "Pech-Pacheco 2000"),
    _contrast("wavelet-variance-3", "Wavelet Variance (ℓ = 3)", "Yang 2003"),
    _contrast("wavelet-ratio-3", "Wavelet Ratio (ℓ = 3)", "Xie 2006"),
    _contrast("wavelet-log-ratio-2", "Mean Wavelet Log-Ratio (ℓ = 2)", "paper"),
    _contrast("local-ratio-2", "Mean Local Ratio (σ = 2)", "Helmli 2001"),
    _contrast("wavelet-ratio-2", "Wavelet Ratio (ℓ = 2)", "Xie 2006"),
    _contrast("local-log-ratio-2", "Mean Local Log-Ratio (σ = 2)", "paper"),
    _contrast("wavelet-sum-3", "Wavelet Sum (ℓ = 3)", "Yang 2003"),
    _contrast("local-norm-dist-sq-2", "Mean Local Norm-Dist-Sq (σ = 2)", "paper"),
    _contrast("local-ratio-4", "Mean Local Ratio (σ = 4)", "Helmli 2001"),
    _contrast("local-log-ratio-4", "Mean Local Log-Ratio (σ = 4)", "paper"),
    _contrast("wavelet-log-ratio-3", "Mean Wavelet Log-Ratio (ℓ = 3)", "paper"),
    _contrast("local-norm-dist-sq-4", "Mean Local Norm-Dist-Sq (σ = 4)", "paper"),
    _learned("l2a-stack-green", "Our Model", Problem.STACK_GREEN, WHOLE),
    _contrast(
        "dioptre-modified-dct", "Modified DCT, absolute response", "ours, after Lee 2008", in_paper=False
    ),
    _contrast(
        "dioptre-diagonal-laplacian",
        "Diagonal Laplacian, both diagonals",
        "ours, after Thelen 2009",
        in_paper=False,
    ),
    _contrast(
        "dioptre-block-dct-energy-ratio",
        "DCT Energy Ratio of 8 x 8 blocks",
        "ours, after Shen 2006",
        in_paper=False,
    ),
    _contrast(
        "dioptre-contrast",
        "Gradient Variance and Local Norm-Dist-Sq",
        "ours, after Pech-Pacheco 2000",
        in_paper=False,
    ),
    Method("dioptre-vote", "Vote of parts", Problem.STACK_GREEN, VOTING, "ours", in_paper=False),
    _stereo("normalized-sad", "Normalized SAD", "Hannah 1974"),
    _stereo("ternary-census-30", "Ternary Census (L1, ε = 30)", "Stein 2004"),
    _stereo("normalized-cross-correlation", "Normalized Cross-Correlation", "Barnea 1972, Hannah 1974"),
    _stereo("rank-transform", "Rank Transform (L1)", "Zabih 1994"),
    _stereo("census-transform", "Census Transform (Hamming)", "Zabih 1994"),
    _stereo("ternary-census-10", "Ternary Census (L1, ε = 10)", "Stein 2004"),
    _stereo("normalized-envelope-l2", "Normalized Envelope (L2)", "Birchfield 1998"),
    _stereo("normalized-envelope-l1", "Normalized Envelope (L1)", "Birchfield 1998"),
    _learned("l2a-stack-dp", "Our Model", Problem.STACK_DUAL_PIXEL, WHOLE),
    _disparity("zncc-disparity", "ZNCC Disparity with Calibration", "Barnea 1972, Hannah 1974, Wadhwa 2018"),
    _disparity("ssd-disparity", "SSD Disparity", "Wadhwa 2018"),
    _disparity("learned-depth", "Learned Depth", "Garg 2019"),
    _learned("l2a-single-dp", "Our Model", Problem.SINGLE_DUAL_PIXEL, 1),
    _learned("l2a-two-step-dp", "Our Model, second step", Problem.SINGLE_DUAL_PIXEL, 2, "l2a-single-dp"),
    _disparity(
        "dioptre-zncc-disparity",
        "ZNCC Disparity of the whole grid",
        "ours, after Wadhwa 2018",
        in_paper=False,
    ),
    _disparity(
        "dioptre-ssd-disparity",
        "SSD Disparity of the whole grid",
        "ours, after Wadhwa 2018",
        in_paper=False,
    ),
    _disparity(
        "dioptre-learned-depth", "Learned Depth of the whole grid", "ours, after Garg 2019", in_paper=False
    ),
    _learned("dioptre-single-dp", "Move from one look", Problem.SINGLE_DUAL_PIXEL, 1),
    _learned("dioptre-any-dp", "Any number of looks", Problem.SINGLE_DUAL_PIXEL, ANY),
    _learned("l2a-single-green", "Our Model", Problem.SINGLE_GREEN, 1),
    _learned("l2a-two-step-green", "Our Model, second step", Problem.SINGLE_GREEN, 2, "l2a-single-green"),
    _learned("dioptre-single-green", "Move from one look", Problem.SINGLE_GREEN, 1),
    _learned("dioptre-any-green", "Any number of looks", Problem.SINGLE_GREEN, ANY),
)

METHODS: Final[dict[str, Method]] = {row.key: row for row in _ROWS}

# What people call some of them elsewhere: in papers, in OpenCV's tutorials, in Pertuz 2013.
ALIASES: Final[dict[str, str]] = {
    "tenengrad": "gradient-magnitude-mean",
    "tenengrad-variance": "gradient-magnitude-variance",
    "tenv": "gradient-magnitude-variance",
    "variance-of-laplacian": "laplacian-variance",
    "lapv": "laplacian-variance",
    "lape": "laplacian-energy",
    "lapm": "modified-laplacian",
    "sml": "modified-laplacian",
    "lapd": "diagonal-laplacian",
    "glva": "intensity-variance",
    "hise": "histogram-entropy",
    "dcte": "dct-energy-ratio",
    "dctr": "dct-reduced-energy-ratio",
    "dctm": "modified-dct",
}
# What is not there, and what comes nearest.
ELSEWHERE: Final[dict[str, str]] = {
    "brenner": "total-variation-l2, the squared differences of neighbours, comes nearest: Brenner's are of "
    "pixels two apart",
}


def find_method(key: str) -> Method:
    """Returns the row of a method, or one for a network in a file; an unknown key gets the nearest names.

    Names that people know (ALIASES) will do: tenengrad, lapv, sml.
    A key of the disparity family may name its calibration after an @, as in zncc-disparity@left.
    """
    key = ALIASES.get(key.lower(), key)
    if key in METHODS:
        return METHODS[key]
    if key.lower() in ELSEWHERE:
        raise MethodError(f"there is no method {key!r}: {ELSEWHERE[key.lower()]}")
    plain, _, table = key.partition(AT)
    if table and plain in METHODS and METHODS[plain].family is DISPARITY:
        find_calibration(table)  # raises if there is none
        return replace(METHODS[plain], key=key, in_paper=False)
    if key.endswith(NETWORK):
        return _of_file(key)
    near = difflib.get_close_matches(key, ALIASES, n=1, cutoff=0.8)
    near = near or difflib.get_close_matches(key, METHODS, n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise MethodError(f"there is no method {key!r}{hint} (`dioptre methods` lists all)")


def _of_file(key: str) -> Method:
    """Returns a row for a network that its user has trained."""
    if not Path(key).is_file():
        raise MethodError(f"there is no file {key}")
    card = LEARNED.build(key).card
    problem = Problem(card.problem)
    return Method(key, Path(key).stem, problem, LEARNED, "a file", in_paper=False, looks=card.looks)


def scores(stack: FocalStack | Shaped[np.ndarray, "..."], keys: Sequence[str]) -> dict[str, Scores]:
    """Returns (batch, n) scores for each method; work that methods of one family share is done once.

    Args:
        stack: What the camera saw: a FocalStack, or an array (slice, row, col) or (slice, 2 views, row, col)
            of one scene, black 0 and white the largest value of its integer type, 1 for floats.
        keys: Methods to run, of any kind.
    """
    if isinstance(keys, str):
        raise InputError(f"scores() takes a list of method keys, not the string {keys!r}")
    seen = stack if isinstance(stack, FocalStack) else stack_of_array(np.asarray(stack))
    rows = {key: find_method(key) for key in keys}
    families: dict[Family, list[str]] = {}
    for row in rows.values():
        families.setdefault(row.family, []).append(row.key)
    near_first = not seen.grid.far_to_near
    shown = seen.turned() if near_first else seen
    found = {key: one for family, some in families.items() for key, one in family.scores(shown, some).items()}
    return {key: found[row.key][:, ::-1] if near_first else found[row.key] for key, row in rows.items()}


def tile_curves(tiles: FocalStack, keys: Sequence[str]) -> dict[str, Scores]:
    """Returns the curves of the tiles of a region, (tile, n), by which each method's answer is judged.

    They are its scores of them; of a method whose parts vote, how each does.
    """
    found = scores(tiles, list(dict.fromkeys(VOTES_BY.get(key, key) for key in keys)))
    return {key: ballots(found[VOTES_BY[key]]) if key in VOTES_BY else found[key] for key in keys}
