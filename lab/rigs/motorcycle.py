"""The plane sweep on real pictures: scikit-image's Motorcycle pair, whose disparity is known.

    python -m lab.rigs.motorcycle --figure OUT.jpg

Two views only, so that nobody else can vote for what one of them does not see. Both pictures are rectified:
places differ by the disparity, which planes from 0 to 70 pixels cover. Printed: the share of sure pixels, and
of these and of all pixels the share within 1 and 2 pixels. Needs scikit-image, and its data.
"""

import argparse
import time
from pathlib import Path

import cv2
import numpy as np
from jaxtyping import Bool

from dioptre.groundtruth.mvs import DepthEstimate, RectifiedView, confidence, sweep_planes
from dioptre.stack import Picture

FOCAL_PX, BASELINE_M = 994.978, 0.193001  # as published with the pair
MOST_PX = 70.0  # disparity, likewise
SURE = 0.99


def sweep_pair() -> tuple[Picture, Picture, Picture, Picture]:
    """Returns the left picture, and disparity found, confidence and true disparity there, pixels."""
    from skimage.data import stereo_motorcycle  # noqa: PLC0415

    left, right, truth = stereo_motorcycle()
    views = [
        RectifiedView(
            (picture[..., 1] / 255.0).astype(np.float32) ** np.float32(2.2), FOCAL_PX, np.eye(3), centre
        )
        for picture, centre in ((left, np.zeros(3)), (right, np.array([BASELINE_M, 0.0, 0.0])))
    ]
    scale = FOCAL_PX * BASELINE_M
    limits = 0.0, MOST_PX / scale
    began = time.process_time()
    depths: list[DepthEstimate] = [sweep_planes(views, at, limits) for at in (0, 1)]
    sure = confidence(views, depths, 0)
    print(f"{time.process_time() - began:.1f} s of processor time for both views")
    found = depths[0].dioptres * np.float32(scale)
    return views[0].picture, found, sure, truth.astype(np.float32)


def _print(found: Picture, sure: Picture, truth: Picture) -> None:
    known = np.isfinite(truth) & (truth > 0)
    for name, where in (("sure", known & (sure >= SURE)), ("all", known)):
        off = np.abs(found - truth)[where]
        share = where.sum() / known.sum()
        within = " ".join(f"{np.mean(off <= limit):.1%} within {limit} px," for limit in (1, 2))
        print(f"{name} pixels: {share:.1%} of those with a truth; {within} median {np.median(off):.2f} px")


def _figure(path: Path, picture: Picture, found: Picture, sure: Picture, truth: Picture) -> None:
    def coloured(values: Picture, where: Bool[np.ndarray, "rows cols"]) -> np.ndarray:
        codes = np.clip(255 * np.nan_to_num(values, posinf=0) / MOST_PX, 0, 255).astype(np.uint8)
        return np.asarray(cv2.applyColorMap(codes, cv2.COLORMAP_TURBO)) * where[..., None].astype(np.uint8)

    grey = np.clip(255 * picture ** (1 / 2.2), 0, 255).astype(np.uint8)
    every = np.ones(found.shape, bool)
    top = [cv2.cvtColor(grey, cv2.COLOR_GRAY2BGR), coloured(truth, np.isfinite(truth))]
    below = [coloured(found, every), coloured(found, sure >= SURE)]
    whole = np.concatenate([np.concatenate(row, axis=1) for row in (top, below)])
    cv2.imwrite(str(path), cv2.resize(whole, None, fx=0.4, fy=0.4, interpolation=cv2.INTER_AREA))


def main() -> None:
    """Sweeps, prints, and draws if asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--figure", type=Path, default=None)
    given = parser.parse_args()
    picture, found, sure, truth = sweep_pair()
    _print(found, sure, truth)
    if given.figure is not None:
        _figure(given.figure, picture, found, sure, truth)


if __name__ == "__main__":
    main()
