"""A trained depth network as an ONNX file, as `dioptre.methods.depth_network` describes it."""

import json
from pathlib import Path

import numpy as np
import torch
from onnx import helper

from dioptre.methods.depth_network import CARD, INPUT, KIND, METADATA, OUTPUT, DepthNetwork
from dioptre.train.depth import load_depth
from dioptre.train.export import Exported, write_checked
from dioptre.train.inference import trace
from dioptre.train.networks.depth import DepthNet

EXAMPLES = ((1, 128, 160), (3, 256, 192))  # batch, rows and columns that a file is tried with
TOLERANCES = {"float32": 1e-3, "float16": 0.05}  # how far a map may be from torch's, in its own deviations


def export_depth(path: Path, file: Path, half: bool = True) -> Exported:
    """Writes the network of a finished training and returns how far it is from torch's.

    Args:
        path: The training's folder.
        file: The ONNX file.
        half: Whether weights are stored in half precision.

    Raises:
        NetworkError: If the file does not answer as torch does; it then does not get its name.
    """
    network, entries = load_depth(path)
    axes = {0: "batch", 1: "map_row", 2: "map_col"}
    given = torch.rand(2, 2, 128, 128, generator=torch.Generator().manual_seed(0))
    shape = {INPUT: {0: "batch", 2: "row", 3: "col"}, OUTPUT: axes}
    model = trace(network, (given,), shape, (INPUT,), OUTPUT)
    helper.set_model_props(model, {METADATA: KIND, CARD: json.dumps(entries, sort_keys=True)})
    return write_checked(
        model,
        file,
        half,
        lambda partial: max(_difference(DepthNetwork(partial), network, *one) for one in EXAMPLES),
        TOLERANCES["float16" if half else "float32"],
        "maps differ from torch's by {:.2g} of their deviation",
    )


@torch.no_grad()
def _difference(found: DepthNetwork, network: DepthNet, batch: int, rows: int, cols: int) -> float:
    """Returns the largest difference of a file's map from torch's on random views, in its deviations."""
    views = np.random.default_rng(batch).uniform(0.05, 0.4, (batch, 2, rows, cols)).astype(np.float32)
    theirs = network(torch.from_numpy(views)).numpy()
    ours = found(views[:, 0], views[:, 1])
    return float(np.abs(ours - theirs).max() / max(float(theirs.std()), 1e-9))
