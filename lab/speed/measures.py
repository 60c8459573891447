"""Speed of the classical measures against the plain reference, as a ratio in one run.

    python -m lab.speed measures

One dual-pixel stack of 49 x 128 x 128. Each row is a measure alone; the last two are all measures of a
kind asked for together, which is what the ratio of 30 is promised for. The scores are compared too.
"""

import sys
from collections.abc import Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np

from dioptre.methods import scores
from dioptre.stack import FocalStack
from lab import slow_references
from lab.speed.timing import best_ms, noisy_stack, write_line

PROMISED = 30.0


def compare(kind: str, keys: list[str], stack: FocalStack) -> None:
    """Prints a row for each measure and one for all of them together."""
    slow = {}
    for key in keys:
        alone = partial(scores, stack, [key])
        plain = partial(slow_references.scores, key, stack.pixels)
        slow[key], fast = best_ms(plain, 2), best_ms(alone, 9)
        found, expected = alone()[key], plain()
        error = np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-12))
        same = "yes" if found.argmax() == expected.argmax() else "NO"
        write_line(f"{key:<40}{slow[key]:>14.1f}{fast:>12.2f}{slow[key] / fast:>8.0f}{error:>10.1e}  {same}")
    together, total = best_ms(partial(scores, stack, keys), 15), sum(slow.values())
    verdict = "ok" if total / together >= PROMISED else f"below the promised {PROMISED:.0f}"
    write_line(f"{'all ' + kind:<40}{total:>14.1f}{together:>12.2f}{total / together:>8.0f}  {verdict}")


def main(_arguments: Sequence[str]) -> None:
    """Prints the table."""
    plain = [key for key in slow_references.CONTRAST if "wavelet" not in key or find_spec("pywt")]
    stack = FocalStack.full(noisy_stack(49, 2, 128, 128, np.random.default_rng(0))[None])
    write_line(f"{'measure':<40}{'reference ms':>14}{'dioptre ms':>12}{'ratio':>8}{'error':>10}  same argmax")
    compare(f"{len(plain)} contrast", plain, stack.green())
    if len(plain) < len(slow_references.CONTRAST):
        write_line("left out: plain wavelets need PyWavelets (pip install pywavelets)")
    compare("8 dual-pixel", list(slow_references.STEREO), stack)


if __name__ == "__main__":
    main(sys.argv[1:])
