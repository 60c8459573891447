"""`dioptre warm`: compile what a first run would have to compile, or would do without."""

import sys
from dataclasses import dataclass

from dioptre.cli.console import DONE, progress


@dataclass(frozen=True)
class Warm:
    """Compile the default measures now, or all, so that no first run waits for it. `make` does so at install.

    What is compiled is kept beside the package, or in the user's cache if that cannot be written. The first
    run of the default method does not wait for a compiler anyway, but is somewhat slower.

    Attributes:
        all: Compile every contrast and dual-pixel measure, which takes half a minute.
    """

    all: bool = False


def run_warm(config: Warm) -> int:
    """Scores a small stack with each method, which compiles it."""
    import numpy as np  # noqa: PLC0415

    from dioptre.loop.request import DEFAULT_MEASURE, DEFAULT_METHOD  # noqa: PLC0415
    from dioptre.methods import METHODS, scores  # noqa: PLC0415
    from dioptre.methods.frame import MEASURES  # noqa: PLC0415
    from dioptre.methods.voting import VOTES_BY  # noqa: PLC0415

    default = [VOTES_BY[DEFAULT_METHOD], DEFAULT_MEASURE]
    keys = [key for key in METHODS if key in MEASURES] if config.all else default
    stack = np.random.default_rng(0).random((3, 2, 64, 64)).astype(np.float32)
    with progress("compiling", False) as moved:
        for done, key in enumerate(keys, 1):
            scores(stack, [key])
            moved(done, len(keys))
    sys.stdout.write(f"compiled: {len(keys)} of {len(MEASURES)} measures\n")
    return DONE
