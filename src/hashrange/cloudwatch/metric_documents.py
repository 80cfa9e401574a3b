"""How are metrics kept? A document for each block of a series, and one for the rest of GROUP_SERIES series together.

    metric-series/{number of the group}                               → names, units, runs, and which blocks there are
    metric-block/{number of the series}/{period}/{number of the block} → cells of a stretch of time (blocks.py)

A block has some hundred bytes, and a few KB with distributions. Format: docs/formats/metrics.md.
"""

from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from hashrange.cloudwatch.blocks import Cells, decode_cells
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.percentiles import Distribution
from hashrange.cloudwatch.runs import StoredRun
from hashrange.cloudwatch.series import BlockName
from hashrange.store.documents import Documents
from hashrange.store.records import decode_document

GROUP_SERIES = 4
"""Series whose names and runs share a document: those with numbers from a multiple of this on."""
GROUPS_TOGETHER = 25
"""Groups that are read together, or fewer if they are long."""
FIRST_GROUPS = 5
"""Groups that the first read asks for, before it is known how long groups are."""
READ_BYTES = 512 * 1024
"""Bytes of groups that are read together, unless the groups before were shorter: 1 ms."""
SERIES_PREFIX = "metric-series/"
BLOCK_PREFIX = "metric-block/"
RECENT_BYTES_MAX = 6_000_000
"""Memory that cells of the blocks read last may take: about that many bytes."""
CELL_BYTES, DISTRIBUTION_BYTES, BUCKET_BYTES = 300, 200, 100
"""About what a cell takes in memory, what its distribution does, and what each bucket does."""


class StoredSeries(msgspec.Struct, array_like=True):
    """All of a series but its blocks."""

    number: int
    metric: MetricId
    unit: str
    last_seconds: float
    kept: list[list[int]]
    """For each tier: the number of the first kept block, then the difference of each further block's number from the
    one before."""
    runs: list[StoredRun]


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[StoredSeries]).decode


class MetricDocuments:
    """The documents of all metrics of one store. All methods raise StorageError."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._recent: OrderedDict[tuple[int, BlockName], tuple[Cells, int]] = OrderedDict()
        """Blocks that were read last, by series and name, with their bytes;
        the one that was read longest ago comes first."""
        self._recent_bytes = 0
        self._writes = 0

    @property
    def generation(self) -> int:
        """Another number once the store's whole content has been replaced."""
        return self._documents.generation

    def load(self) -> Iterator[list[StoredSeries]]:
        """All series, those of some groups at a time: about a hundred, or fewer with long names."""
        self._recent.clear()
        self._recent_bytes = 0
        last: str | None = None
        count = FIRST_GROUPS
        while groups := self._documents.some_below(SERIES_PREFIX, last, count):
            yield [one for name, group in groups for one in decode_document(_decode, name, group, "group of series")]
            last = groups[-1][0]
            bytes_each = sum(len(group) for _, group in groups) // len(groups) + 1
            count = max(1, min(GROUPS_TOGETHER, READ_BYTES // bytes_each))

    def read_cells(self, number: int, name: BlockName) -> Cells:
        """The cells of a block, which must not be changed; none if it is not kept. May give way."""
        key = (number, name)
        recent = self._recent.get(key)
        if recent is not None:
            self._recent.move_to_end(key)
            return recent[0]
        writes = self._writes
        block = self._documents.get(_block_document(number, name))
        cells = {} if block is None else decode_cells(block)
        if writes != self._writes or key in self._recent:  # the block may be another one now, or was read by others
            return cells
        size_bytes = sum(cell_bytes(cell.distribution) for cell in cells.values())
        self._recent[key] = cells, size_bytes
        self._recent_bytes += size_bytes
        while self._recent_bytes > RECENT_BYTES_MAX and len(self._recent) > 1:
            _, (_, oldest_bytes) = self._recent.popitem(last=False)
            self._recent_bytes -= oldest_bytes
        return cells

    async def write(
        self,
        group: int,
        series: Sequence[StoredSeries],
        blocks: Mapping[tuple[int, BlockName], bytes | None],
        generation: int | None,
    ) -> bool:
        """Put the series of a group, and put or delete blocks, in one commit.
        Returns False (nothing done) if the content was replaced.
        """
        changes: dict[str, bytes | None] = {
            _block_document(number, name): block for (number, name), block in blocks.items()
        }
        changes[f"{SERIES_PREFIX}{group:08x}"] = _encode(series) if series else None
        is_written = await self._documents.write(changes, generation)
        self._writes += 1
        for key in blocks:
            _, old_bytes = self._recent.pop(key, (None, 0))
            self._recent_bytes -= old_bytes
        return is_written


def cell_bytes(distribution: Distribution | None) -> int:
    """About what a cell with this distribution takes in memory."""
    return CELL_BYTES if distribution is None else CELL_BYTES + DISTRIBUTION_BYTES + BUCKET_BYTES * len(distribution)


def _block_document(number: int, name: BlockName) -> str:
    return f"{BLOCK_PREFIX}{number:x}/{name[0]}/{name[1]}"
