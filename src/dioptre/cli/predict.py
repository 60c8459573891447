"""`dioptre predict`: what methods answer for the patches of a store."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, progress
from dioptre.pipeline.settings import Prediction


@dataclass(frozen=True)
class Predict:
    """Run methods on the patches of a store and write down what they answer.

    A run that was stopped goes on where it was. `dioptre report` makes tables of the result.

    Attributes:
        data: Folder of the store, simulated or imported.
        out: Folder of the predictions.
        prediction: What to predict.
        workers: Processes; 0 for one a core. The result does not depend on it.
        json: Print a summary as JSON.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    prediction: Annotated[Prediction, tyro.conf.OmitArgPrefixes]
    workers: int = 0
    json: bool = False


def run_predict(config: Predict) -> int:
    """Writes predictions."""
    from dioptre.pipeline.predicting import predict_store  # noqa: PLC0415
    from dioptre.pipeline.processes import local_executor  # noqa: PLC0415

    with progress("predicting", config.json) as moved, local_executor(config.workers) as executor:
        count = predict_store(config.data, config.out, config.prediction, executor, moved)
    if config.json:
        sys.stdout.write(json.dumps({"out": str(config.out), "predictions": count}) + "\n")
    else:
        sys.stdout.write(f"wrote {count} predictions to {config.out}\n")
    return DONE
