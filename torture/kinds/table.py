"""Which kinds of hostile clients are there? All, in the order in which they run and appear on the page."""

from torture.kinds import (
    connections,
    control,
    crowds,
    dax,
    dense,
    expressions,
    faults,
    forks,
    functions,
    indexes,
    large,
    legacy,
    legal,
    metrics,
    pages,
    reads,
    shards,
    strangers,
)
from torture.kinds.kind import Kind

KINDS: tuple[Kind, ...] = (
    *expressions.KINDS,
    *legacy.KINDS,
    *legal.KINDS,
    *large.KINDS,
    *dense.KINDS,
    *control.KINDS,
    *indexes.KINDS,
    *reads.KINDS,
    *strangers.KINDS,
    *connections.KINDS,
    *crowds.KINDS,
    *functions.KINDS,
    *metrics.KINDS,
    *pages.KINDS,
    *forks.KINDS,
    *faults.KINDS,
    *shards.KINDS,
    *dax.KINDS,
)
BY_NAME = {kind.name: kind for kind in KINDS}
