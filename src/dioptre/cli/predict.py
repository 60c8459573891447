"""`dioptre predict`: what methods answer for the patches of a store."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from dioptre.cli.console import DONE, print_json, progress
from dioptre.pipeline.settings import Prediction, Workers


@dataclass(frozen=True)
class Predict:
    """Run methods on the patches of a store and write down what they answer.

    A run that was stopped goes on where it was. `dioptre report` makes tables of the result.

    Attributes:
        data: Folder of the store, simulated or imported.
        out: Folder of the predictions.
        prediction: What to predict.
        workers: Who does it.
        json: Print a summary as JSON.
    """

    data: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="DATA")]
    out: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="OUT")]
    prediction: Annotated[Prediction, tyro.conf.OmitArgPrefixes]
    workers: Annotated[Workers, tyro.conf.OmitArgPrefixes]
    json: bool = False


def run_predict(config: Predict) -> int:
    """Writes predictions."""
    from dioptre.pipeline.cluster import open_executor, shared_path  # noqa: PLC0415
    from dioptre.pipeline.predicting import predict_store  # noqa: PLC0415

    data, out = (shared_path(path, config.workers) for path in (config.data, config.out))
    with progress("predicting", config.json) as moved, open_executor(config.workers) as executor:
        count, split = predict_store(data, out, config.prediction, executor, moved)
    if config.json:
        print_json({"out": str(config.out), "predictions": count, "split": split})
    else:
        of = "patches of every split" if split == "all" else f"the split {split}"
        sys.stdout.write(f"wrote {count} predictions for {of} to {config.out}\n")
    return DONE
