"""The model of doubt: boosted trees fitted to samples, and what their sums are worth, counted on others.

    python -m lab.confidence_samples SAMPLES --scenes 1500 --seed 7
    python -m lab.fit_confidence SAMPLES [--out model.json] [--without NAME,...]

Scenes are apart: of every ten, six fit the trees, two count how often answers with each sum are misses or
sharp (isotonic regression; the selective risk is the share of misses among all answers with at most that
sum), and two are for the figures that it prints and writes into the file's header. A fifth of the answers
that are counted are of faults and of what cannot be focused, whatever their number among the samples.
"""

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score

from dioptre.confidence.model import RISK, OutlierModel
from dioptre.focusing.arguments import DEFAULT_METHOD
from dioptre.miss import MISS_STEPS, SHARP_STEPS

CLEAN_SHARE = 0.75  # of the sweeps that people take
DEFAULT_SHARE = 0.5  # of the answers that they ask for are the default method's
FIT, COUNT, SHOW = (0, 1, 2, 3, 4, 5), (6, 7), (8, 9)  # scenes, modulo ten
TREES = {
    "max_iter": 150,
    "max_leaf_nodes": 14,
    "learning_rate": 0.1,
    "l2_regularization": 5.0,
    "min_samples_leaf": 40,
}
KNOTS = 60
ABOVE_ALL = 1e9  # a threshold where only what is not known goes the other way
# Which way a feature may only push: 1, the more of it the more doubtful; -1, the less.
MORE = ("own", "distance", "sharper", "ends", "light", "change", "turned", "seen")
LESS = ("fall_far", "shared_clean", "edge", "clear", "telling", "still")
EITHER = ("finest",)
DIRECTIONS = {**dict.fromkeys(MORE, 1), **dict.fromkeys(LESS, -1), **dict.fromkeys(EITHER, 0)}


@dataclass(frozen=True, eq=False)
class Table:
    """Samples, one a row."""

    names: list[str]
    features: np.ndarray
    method: np.ndarray
    kind: np.ndarray
    clean: np.ndarray
    off: np.ndarray
    slices: np.ndarray
    scene: np.ndarray

    @classmethod
    def read(cls, folder: Path) -> "Table":
        """Returns all samples of a folder."""
        parts = [dict(np.load(path)) for path in sorted(folder.glob("[0-9L]?????.npz"))]
        names = list(dict.fromkeys(str(name) for one in parts for name in one["names"]))
        rows = []
        for one in parts:
            mine = np.full((len(one["off"]), len(names)), np.nan)
            mine[:, [names.index(str(name)) for name in one["names"]]] = one["features"]
            rows.append(mine)
        rest = {
            name: np.concatenate([one[name] for one in parts])
            for name in ("method", "kind", "clean", "off", "slices", "scene")
        }
        return cls(names, np.concatenate(rows), **rest)

    def some(self, rows: np.ndarray) -> "Table":
        """Returns some rows."""
        rest = {
            name: getattr(self, name)[rows] for name in ("method", "kind", "clean", "off", "slices", "scene")
        }
        return Table(self.names, self.features[rows], **rest)

    def of_features(self, names: Sequence[str]) -> "Table":
        """Returns the table of some features."""
        kept = [self.names.index(name) for name in names]
        rest = {name: getattr(self, name) for name in ("method", "kind", "clean", "off", "slices", "scene")}
        return Table([self.names[at] for at in kept], self.features[:, kept], **rest)

    @property
    def missed(self) -> np.ndarray:
        """Which answers are misses."""
        return self.off > MISS_STEPS

    @property
    def fit_weights(self) -> np.ndarray:
        """How much each counts when trees are fitted: the default method more, few looks less."""
        looks = np.char.find(self.method.astype(str), "@") >= 0
        return np.where(self.method == DEFAULT_METHOD, 4.0, np.where(looks, 0.5, 1.0))

    @property
    def weights(self) -> np.ndarray:
        """How much each counts: as often as people meet it, whatever its number here."""
        default = self.method == DEFAULT_METHOD
        found = np.ones(len(self.off))
        for rows, share in ((self.clean, CLEAN_SHARE), (~self.clean, 1 - CLEAN_SHARE)):
            for mine, part in ((default, DEFAULT_SHARE), (~default, 1 - DEFAULT_SHARE)):
                found[rows & mine] = share * part / max(np.sum(rows & mine), 1)
        return found / found.mean()


def fitted(table: Table, seed: int) -> HistGradientBoostingClassifier:
    """Returns trees fitted to a table."""
    ways = [DIRECTIONS[name] for name in table.names]
    trees = HistGradientBoostingClassifier(
        **TREES, monotonic_cst=ways, random_state=seed, early_stopping=False
    )
    return trees.fit(table.features, table.missed, table.fit_weights)


def flat_trees(trees: HistGradientBoostingClassifier) -> dict[str, list[Any]]:
    """Returns fitted trees as flat lists, as `OutlierModel` has them; the first is their constant."""
    found: dict[str, list[Any]] = {
        name: [] for name in ("roots", "feature", "threshold", "right", "unknown_left")
    }

    def add(nodes: Any, at: int) -> None:
        """Adds a node and what hangs on it, the left child first."""
        node, mine = nodes[at], len(found["feature"])
        leaf = bool(node["is_leaf"])
        number = node["value"] if leaf else min(node["num_threshold"], ABOVE_ALL)
        one = (
            -1 if leaf else int(node["feature_idx"]), rounded(number), 0, int(node["missing_go_to_left"])
        )  # fmt: skip
        for name, value in zip(("feature", "threshold", "right", "unknown_left"), one, strict=True):
            found[name].append(value)
        if not leaf:
            add(nodes, int(node["left"]))
            found["right"][mine] = len(found["feature"])
            add(nodes, int(node["right"]))

    constant = np.zeros(1, [("is_leaf", bool), ("value", float), ("missing_go_to_left", bool)])
    constant["is_leaf"], constant["value"] = True, np.ravel(trees._baseline_prediction)[0]
    for nodes in (constant, *(tree.nodes for (tree,) in trees._predictors)):
        found["roots"].append(len(found["feature"]))
        add(nodes, 0)
    return found


def rounded(number: float) -> float:
    """Returns a number with four digits that count."""
    return float(f"{number:.4g}")


def counted(doubt: np.ndarray, table: Table) -> dict[str, list[float]]:
    """Returns what sums of trees are worth, by counting."""
    order = np.argsort(doubt)
    weights, missed = table.weights[order], table.missed[order]
    selective = (np.cumsum(weights * missed) + 0.5) / (np.cumsum(weights) + 0.5)
    sums = np.unique(
        np.quantile(
            doubt,
            np.concatenate([[0], np.geomspace(0.002, 0.5, KNOTS // 2), np.linspace(0.52, 1, KNOTS // 2)]),
        )
    )
    rising = IsotonicRegression(out_of_bounds="clip")
    falling = IsotonicRegression(out_of_bounds="clip", increasing=False)
    miss = rising.fit(doubt, table.missed, table.weights).predict(sums)
    sharp = falling.fit(doubt, table.off <= SHARP_STEPS, table.weights).predict(sums)
    risk = np.minimum.accumulate(np.interp(sums, doubt[order], selective)[::-1])[::-1]
    return {
        name: [rounded(one) for one in values]
        for name, values in (("sums", sums), ("miss", miss), ("risk", risk), ("confidence", sharp))
    }


def figures(model: OutlierModel, table: Table) -> dict[str, Any]:
    """Returns what the model does with samples it has not seen."""
    doubt = model.doubt(table.features)
    miss = np.interp(doubt, model.sums, model.miss)
    risk = np.maximum(np.interp(doubt, model.sums, model.risk), miss / 10)
    confidence = np.interp(doubt, model.sums, model.confidence)
    taken = risk <= RISK

    def of(rows: np.ndarray) -> dict[str, Any]:
        missed, sharp = table.missed[rows], table.off[rows] <= SHARP_STEPS
        both = 0 < missed.sum() < len(missed)
        bins = np.minimum((confidence[rows] * 10).astype(int), 9)
        gaps = [abs(float(np.sum(confidence[rows][bins == one] - sharp[bins == one]))) for one in range(10)]
        return {
            "answers": int(rows.sum()),
            "focused": round(float(taken[rows].mean()), 4),
            "focused_wrong": round(float((taken[rows] & missed).mean()), 4),
            "misses": round(float(missed.mean()), 4),
            "auroc": round(float(roc_auc_score(missed, doubt[rows])), 4) if both else None,
            "ece": round(sum(gaps) / int(rows.sum()), 4),
        }

    found = {"all": of(np.ones(len(doubt), bool)), "clean": of(table.clean), "not clean": of(~table.clean)}
    kinds = {str(kind): of(table.kind == kind) for kind in np.unique(table.kind)}
    methods = {
        str(one): of(table.clean & (table.method == one))
        for one in np.unique(table.method)
        if (table.clean & (table.method == one)).sum() > 20
    }
    return {**found, "kinds": kinds, "clean, by method": methods}


def fit(table: Table, seed: int) -> tuple[OutlierModel, dict[str, Any]]:
    """Returns the model, and what is written."""
    part = [table.some(np.isin(table.scene % 10, scenes)) for scenes in (FIT, COUNT, SHOW)]
    trees = fitted(part[0], seed)
    typical = np.nanmedian(part[0].features[part[0].clean & ~part[0].missed], axis=0)
    entries: dict[str, Any] = {
        "names": table.names,
        "typical": [rounded(one) for one in np.nan_to_num(typical)],
        **flat_trees(trees),
    }
    nothing = {name: [0.0, 1.0] for name in ("sums", "miss", "risk", "confidence")}
    bare = OutlierModel.from_json({**entries, **nothing})
    entries |= counted(bare.doubt(part[1].features), part[1])
    model = OutlierModel.from_json(entries)
    return model, {"header": {"seed": seed, "figures": figures(model, part[2])}, **entries}


def print_figures(found: dict[str, Any]) -> None:
    """Prints the figures as a table."""
    print(f"{'':<34}{'answers':>9}{'focused':>9}{'wrong':>9}{'misses':>9}{'AUROC':>9}{'ECE':>9}")

    def line(name: str, one: dict[str, Any]) -> None:
        ranks = "" if one["auroc"] is None else f"{one['auroc']:.3f}"
        print(
            f"{name:<34}{one['answers']:>9}{one['focused']:>9.3f}{one['focused_wrong']:>9.4f}{one['misses']:>9.3f}{ranks:>9}{one['ece']:>9.3f}"
        )

    for name, one in found.items():
        if "answers" in one:
            line(name, one)
        else:
            print(name)
            for each, inner in one.items():
                line("  " + each, inner)


def main() -> None:
    """Fits and writes the model."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("samples", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", default="")
    chosen = parser.parse_args()
    names = [name for name in DIRECTIONS if name not in chosen.without.split(",")]
    table = Table.read(chosen.samples).of_features(names)
    _, entries = fit(table, chosen.seed)
    print_figures(entries["header"]["figures"])
    if chosen.out:
        lines = [
            f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'))}" for name, one in entries.items()
        ]
        chosen.out.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
