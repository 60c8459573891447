"""`dioptre predict`: what methods answer for the patches of a store."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from dioptre.cli.console import progress


@dataclass(frozen=True)
class Predict:
    """Run methods on the patches of a store and write down what they answer.

    A run that was stopped goes on where it was. `dioptre report` makes tables of the result.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    """Folder of the store, simulated or imported."""

    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    """Folder of the predictions."""

    methods: Annotated[str, tyro.conf.arg(metavar="KEY,KEY")] = ""
    """Which methods (`dioptre methods` lists them); all that the patches allow by default."""

    split: Literal["test", "validation", "train", "all"] = "test"
    """Which patches."""

    starts: int = 0
    """From how many lens positions a method with few looks begins; 0 for all."""

    json: bool = False
    """Print a summary as JSON."""


def run_predict(config: Predict) -> int:
    """Writes predictions."""
    from dioptre.pipeline.predicting import Prediction, predict_store  # noqa: PLC0415

    keys = tuple(key for key in config.methods.split(",") if key)
    with progress("predicting", config.json) as moved:
        count = predict_store(config.data, config.out, Prediction(keys, config.split, config.starts), moved)
    if config.json:
        sys.stdout.write(json.dumps({"out": str(config.out), "predictions": count}) + "\n")
    else:
        sys.stdout.write(f"wrote {count} predictions to {config.out}\n")
    return 0
