"""What does a store know of a source without reading it? Its item count and size."""

from typing import NamedTuple


class Statistics(NamedTuple):
    """Item count and size of one source."""

    item_count: int
    size_bytes: int
