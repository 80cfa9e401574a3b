"""How are many cells of a series kept in few bytes? In columns of numbers that are mostly alike, compressed.

A block holds the cells of a stretch of time, by the number of their period since 1970. What can be computed is not
kept: of values that are all the same, there is only their number. Format: docs/formats/metrics.md.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate

import msgspec

from hashrange.cloudwatch.columns import Column, column_of, column_of_whole, differences, numbers_of, whole_numbers_of
from hashrange.cloudwatch.percentiles import Distribution, bucket_of
from hashrange.cloudwatch.statistic import Cell, StatisticSet, merged
from hashrange.items.steps import spend, walk

COMPRESSION_LEVEL = 6
PIECE_BYTES = 16 * 1024
PIECE_STEPS = 500
"""Steps that one piece of this many bytes takes, in which blocks are compressed."""


Cells = dict[int, Cell]
"""Number of the period since 1970 → its cell."""

NO_DISTRIBUTION, USUAL_DISTRIBUTION, OTHER_DISTRIBUTION = 0, 1, 2
"""Percentiles cannot be told; all values are the minimum; that many buckets more than OTHER_DISTRIBUTION are kept."""


class _Block(msgspec.Struct, array_like=True):
    """The columns of a block, in order of time."""

    cells: int
    first: int
    """Number of the first cell's period."""
    steps: Column
    """For every further cell: how many periods its period follows the one of the cell before."""
    counts: Column
    minimums: Column
    maximums: Column | None
    """None: each is the minimum."""
    sums: Column | None
    """None: each is the count times the minimum."""
    distributions: Column
    """What there is of each cell's distribution."""
    buckets: Column
    """For each cell whose buckets are kept: the number of its first bucket, then the difference of each further
    bucket's number from the one before."""
    bucket_counts: Column


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Block).decode


def encode_cells(cells: Cells) -> bytes:
    """The bytes of a block; may give way. 2 µs for each cell without a distribution."""
    periods = sorted(cells)
    ordered = [cells[period] for period in periods]
    counts, sums, minimums, maximums = zip(*[cell.statistics for cell in ordered], strict=True)
    kinds, buckets, bucket_counts = _flat_distributions(ordered)
    compressor = zlib.compressobj(COMPRESSION_LEVEL)
    block = _Block(
        cells=len(periods),
        first=periods[0],
        steps=column_of_whole(differences(periods)[1:]),
        counts=column_of(counts),
        minimums=column_of(minimums),
        maximums=None if maximums == minimums else column_of(maximums),
        sums=None if list(sums) == _usual_sums(counts, minimums) else column_of(sums),
        distributions=column_of_whole(kinds),
        buckets=column_of_whole(buckets),
        bucket_counts=column_of(bucket_counts),
    )
    return b"".join([*map(compressor.compress, _in_pieces(_encode(block))), compressor.flush()])


def decode_cells(block: bytes) -> Cells:
    """The cells of a block; may give way. 2 µs for each cell without a distribution."""
    columns = _decode(b"".join(map(zlib.decompressobj().decompress, _in_pieces(block))))
    size = columns.cells
    counts, minimums = numbers_of(columns.counts, size), numbers_of(columns.minimums, size)
    maximums = minimums if columns.maximums is None else numbers_of(columns.maximums, size)
    sums = _usual_sums(counts, minimums) if columns.sums is None else numbers_of(columns.sums, size)
    statistics = list(map(StatisticSet, counts, sums, minimums, maximums))
    periods = accumulate(whole_numbers_of(columns.steps, size - 1), initial=columns.first)
    kinds = whole_numbers_of(columns.distributions, size)
    if not any(kinds):
        return dict(zip(periods, map(Cell, statistics), strict=True))
    return dict(zip(periods, map(Cell, statistics, _read_distributions(columns, kinds, statistics)), strict=True))


def _in_pieces(plain: bytes) -> Iterator[bytes]:
    """The bytes in pieces that zlib takes up to a millisecond for; gives way before each."""
    for begin in range(0, len(plain), PIECE_BYTES):
        spend(PIECE_STEPS)
        yield plain[begin : begin + PIECE_BYTES]


def together(parts: Sequence[Cell]) -> Cell:
    """The cell of all values of several; may give way. Percentiles can be told only if they can of all of them."""
    counts, sums, minimums, maximums = zip(*[cell.statistics for cell in parts], strict=True)
    statistics = StatisticSet(sum(counts), sum(sums), min(minimums), max(maximums))
    distribution: dict[int, float] = {}
    for cell in parts:
        if cell.distribution is None:
            return Cell(statistics)
        spend((len(cell.distribution) >> 3) + 1)
        _add_values(distribution, cell.distribution)
    return Cell(statistics, distribution)


def _add_values(distribution: dict[int, float], added: Distribution) -> None:
    for bucket, count in added.items():
        distribution[bucket] = distribution.get(bucket, 0.0) + count


def add_cell(cells: Cells, number: int, cell: Cell) -> None:
    """Add a cell to those of a block, which may have one of this period already. Does not give way, and changes no cell
    that others may be reading.
    """
    before = cells.get(number)
    if before is not None:
        both = None if before.distribution is None or cell.distribution is None else dict(before.distribution)
        if both is not None:
            _add_values(both, cell.distribution or {})
        cell = Cell(merged(before.statistics, cell.statistics), both)
    cells[number] = cell


def add_cells(cells: Cells, added: Cells, periods: int = 1) -> None:
    """Add all cells of a block, each to the period that has this many of its own; may give way."""
    for number, cell in walk(added.items()):
        spend(len(cell.distribution or ()) >> 3)
        add_cell(cells, number // periods, cell)


def _usual_sums(counts: Sequence[float], minimums: Sequence[float]) -> list[float]:
    """The sums, if all values of each cell are the minimum."""
    return [count * minimum for count, minimum in zip(counts, minimums, strict=True)]


def _usual_distribution(statistics: StatisticSet) -> Mapping[int, float]:
    """The distribution, if all values are the minimum."""
    return {bucket_of(statistics.minimum): statistics.sample_count}


def _flat_distributions(cells: Sequence[Cell]) -> tuple[list[int], list[int], list[float]]:
    """What there is of each cell's distribution, and the kept buckets of all of them with their counts."""
    kinds: list[int] = []
    buckets: list[int] = []
    counts: list[float] = []
    for statistics, distribution in cells:
        spend((len(distribution or ()) >> 2) + 1)
        if distribution is None:
            kinds.append(NO_DISTRIBUTION)
        elif statistics.minimum == statistics.maximum and distribution == _usual_distribution(statistics):
            kinds.append(USUAL_DISTRIBUTION)
        else:
            ordered = sorted(distribution)
            kinds.append(OTHER_DISTRIBUTION + len(ordered))
            buckets += differences(ordered)
            counts += [distribution[bucket] for bucket in ordered]
    return kinds, buckets, counts


def _read_distributions(
    columns: _Block, kinds: Sequence[int], all_statistics: Sequence[StatisticSet]
) -> list[Mapping[int, float] | None]:
    """The distribution of each cell."""
    kept = sum(kind - OTHER_DISTRIBUTION for kind in kinds if kind > OTHER_DISTRIBUTION)
    buckets, counts = whole_numbers_of(columns.buckets, kept), numbers_of(columns.bucket_counts, kept)
    distributions: list[Mapping[int, float] | None] = []
    begin = 0
    for kind, statistics in zip(kinds, all_statistics, strict=True):
        spend((kind >> 3) + 1)
        if kind >= OTHER_DISTRIBUTION:
            end = begin + kind - OTHER_DISTRIBUTION
            distributions.append(dict(zip(accumulate(buckets[begin:end]), counts[begin:end], strict=True)))
            begin = end
        else:
            distributions.append(_usual_distribution(statistics) if kind == USUAL_DISTRIBUTION else None)
    return distributions
