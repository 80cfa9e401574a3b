"""Which ways of losing data are tried? All, one after another, each with its share of the rounds and its own seed."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from torture.figures import LossFigure
from torture.loss.cuts import run_cuts
from torture.loss.disk import run_full_disk
from torture.loss.folders import run_lost_folders
from torture.loss.kills import run_kills

KILLS, CUTS, FULL_DISKS, LOST_FOLDERS = 60, 25, 6, 8

Say = Callable[[str], None]


def run_loss(folder: Path, seed: int, share: float, say: Say) -> list[LossFigure]:
    """Return the figures of all ways; `share` 0.1 runs a tenth of the rounds, at least one of each."""
    figures = []
    for figure in _figures(folder, seed, lambda rounds, least: max(least, round(rounds * share))):
        figures.append(figure)
        say(
            (
                f"{figure.name}: {figure.rounds} rounds, {figure.acknowledged:,} acknowledged, {figure.lost} lost,"
                f" {figure.invented} invented, {figure.refused_starts} starts refused, serving after"
                f" {figure.serve_seconds_max:.2f} s at most"
            )
            + "".join(f"\n  {fault}" for fault in figure.faults)
        )
    return figures


def _figures(folder: Path, seed: int, rounds: Callable[[int, int], int]) -> Iterator[LossFigure]:
    yield run_kills(folder, rounds(KILLS, 1), random.Random(f"{seed} kills"))
    yield from run_cuts(folder, rounds(CUTS, 1), random.Random(f"{seed} cuts"))
    yield from run_full_disk(folder, rounds(FULL_DISKS, 2), random.Random(f"{seed} disk"))
    yield from run_lost_folders(folder, rounds(LOST_FOLDERS, 2), random.Random(f"{seed} folders"))
