"""How does the embedded store search a vector index? It reads all entries that may be found, page by page, and ranks
them exactly.

The entries are not those of one moment: other requests may write between two pages. They are read in the order of
their keys, so of entries with equal scores those with the lesser keys are found.
"""

from binascii import a2b_base64
from collections.abc import Callable

from hashrange.items.keys import prefix_upper_bound
from hashrange.items.rows import attributes_reader, decode_for
from hashrange.soon import settled
from hashrange.store.interface import Store
from hashrange.store.pause import FIRST_SLICE, hand_back
from hashrange.tables.open_table import ReadSource
from hashrange.tables.read_spans import narrow, scan_span
from hashrange.tables.span import Span
from hashrange.vectors.ranking import Ranking
from hashrange.vectors.search import FoundEntries, VectorQuery

PAGE_ROWS_MAX = 1_024
PAGE_BYTES = 1024 * 1024
_BEFORE, _BEHIND = len(b'{"B":"'), -len(b'"}')
"""What is around the base64 of a vector in the JSON of its value."""


def _span_of(hash_key: bytes | None) -> Span:
    return scan_span(None, None) if hash_key is None else Span(hash_key, prefix_upper_bound(hash_key))


async def search_entries(
    store: Store, source: ReadSource, query: VectorQuery, monotonic: Callable[[], float]
) -> FoundEntries:
    """What a search of a vector index finds. Lets other requests run between pages. Raises StorageError."""
    vectors = source.vectors
    assert vectors is not None, "only a vector index can be searched"
    ranking = Ranking(vectors.index.distance, query.vector, query.top_k)
    read_vector = attributes_reader((vectors.index.attribute,))
    span = _span_of(query.hash_key)
    rows_max = FIRST_SLICE
    read_bytes = 0
    while True:
        page = await settled(store.page(source.source_id, span, rows_max, PAGE_BYTES, consistent=False))
        read_bytes += page.size_bytes
        for row in page.rows:
            if query.test is None or query.test(decode_for(row, query.tested_names)):
                (value,) = read_vector(row)
                ranking.see(row, a2b_base64(value[_BEFORE:_BEHIND]))
        if page.last_key is None:
            return FoundEntries(ranking.result(), read_bytes)
        span = narrow(span, page.last_key)
        rows_max = await hand_back(monotonic, rows_max, PAGE_ROWS_MAX)
