"""How are items read from CSV? A line for each, behind a header unless the request has one.

Key attributes of the table and its indexes have their types; all others are strings. A cell without content gives its
item no attribute (unconfirmed). Quotation marks are doubled within cells, and no cell goes over the end of its line.
Source: global-tables-backup.md 4, developer guide 2026, "Amazon S3 import formats".
"""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hashrange.items.steps import PIECE_BYTES, spend, spend_decoding, walk
from hashrange.limits import ITEM_SIZE_MAX_BYTES
from hashrange.messages.reads import ITEM_TOO_LARGE
from hashrange.transfers.formats.compression import DamagedObject
from hashrange.transfers.formats.lines import LINE_MAX_BYTES, FaultyLine, RawItem, ReadItem

_STEP_BYTES = 256
"""Bytes of a short line that count as one step."""
_HEADER_MAX_BYTES = ITEM_SIZE_MAX_BYTES
"""Longest header: an item with all of its columns has them in its size."""
_LINE_MAX_BYTES = 2 * 1024 * 1024
"""Longest line that is read: an item of 400 KB has 0.8 MB if it consists of quotation marks, which are doubled; the
rest is for the quotation marks around its cells, and for cells without content."""
_CELLS_TOGETHER = 512
"""Cells of a long line that become attributes without giving way."""


class CsvLineReader:
    """Reads the lines of one object of CSV."""

    joins_lines = False

    def __init__(self, delimiter: str, header: Sequence[str] | None, key_types: Mapping[str, str]) -> None:
        """`header`: names of the columns; None: the first line has them. `key_types`: type of each key attribute."""
        self._delimiter = delimiter
        self._key_types = key_types
        self._columns: list[tuple[str, str]] = []
        """Name and type of each column; empty before the header."""
        if header is not None:
            self._take_header(header)

    @property
    def wants_first(self) -> bool:
        """Implements `LineReader.wants_first`."""
        return not self._columns

    def read_together(self, lines: Sequence[bytes]) -> None:
        """Implements `LineReader.read_together`: there is no quicker way."""

    def read(self, line: bytes) -> Iterable[ReadItem]:
        """Implements `LineReader.read`. 2 µs for a line of ten cells."""
        if len(line) > PIECE_BYTES:
            return self._read_long(line)
        spend(len(line) // _STEP_BYTES)
        text = self._text_of(line)
        try:
            cells = text.split(self._delimiter) if '"' not in text else self._quoted_cells(text)
        except csv.Error as error:
            return self._refuse(error)
        if not self._columns:
            self._take_header(cells)
            return ()
        return (self._item(cells),)

    def _text_of(self, line: bytes) -> str:
        """The text of a line. Raises DamagedObject."""
        try:
            return line.decode("utf-8" if self._columns else "utf-8-sig").removesuffix("\r")
        except UnicodeDecodeError as error:
            raise DamagedObject(f"a line is no UTF-8: {error}") from error

    def _refuse(self, error: csv.Error) -> Iterable[ReadItem]:
        """What stands in the place of a line that is no CSV. Raises DamagedObject if it is the header."""
        if not self._columns:
            raise DamagedObject(f"the header is no line of CSV: {error}") from error
        return (FaultyLine(f"it is no line of CSV: {error}"),)

    def _take_header(self, names: Sequence[str]) -> None:
        seen: set[str] = set()
        for name in walk(names):
            if name in seen or not name:
                raise DamagedObject("the header repeats a name, or has an empty one")
            seen.add(name)
            self._columns.append((name, self._key_types.get(name, "S")))

    def _item(self, cells: Sequence[str]) -> ReadItem:
        if len(cells) != len(self._columns):
            return self._wrong_count(len(cells))
        item: RawItem = {
            name: {kind: cell} for (name, kind), cell in zip(self._columns, cells, strict=True) if cell != ""
        }
        return item

    def _wrong_count(self, count: int) -> FaultyLine:
        return FaultyLine(f"it has {count} cells, and the header has {len(self._columns)}")

    def _quoted_cells(self, text: str) -> list[str]:
        """The cells of a short line with quotation marks. Raises csv.Error."""
        usual = csv.field_size_limit(LINE_MAX_BYTES)
        try:
            return next(csv.reader([text], delimiter=self._delimiter, strict=True))
        finally:
            csv.field_size_limit(usual)

    # --- long lines -------------------------------------------------------------------------------

    def _read_long(self, line: bytes) -> Iterable[ReadItem]:
        """As `read`, giving way. Raises DamagedObject."""
        if not self._columns and len(line) > _HEADER_MAX_BYTES:
            raise DamagedObject(f"the header has more than {_HEADER_MAX_BYTES} bytes")
        if len(line) > _LINE_MAX_BYTES:
            return (FaultyLine(ITEM_TOO_LARGE),)
        spend_decoding(len(line))
        text = self._text_of(line)
        try:
            if not self._columns:
                self._take_header([cell for cells in self._cells_together(text) for cell in cells])
                return ()
            return (self._long_item(text),)
        except csv.Error as error:
            return self._refuse(error)

    def _long_item(self, text: str) -> ReadItem:
        """The item of a long line. Raises csv.Error."""
        item: RawItem = {}
        count = 0
        for cells in self._cells_together(text):
            columns = self._columns[count : count + len(cells)]
            item |= {name: {kind: cell} for (name, kind), cell in zip(columns, cells, strict=False) if cell != ""}
            count += len(cells)
        return item if count == len(self._columns) else self._wrong_count(count)

    def _cells_together(self, text: str) -> Iterator[list[str]]:
        """Yield the cells of a text, some at a time; gives way. Raises csv.Error."""
        cells: list[str] = []
        place = -1
        while place < len(text):
            if text.startswith('"', place + 1):
                cell, place = self._quoted_cell(text, place + 2)
            else:
                begin, place = place + 1, text.find(self._delimiter, place + 1)
                place = len(text) if place < 0 else place
                cell = text[begin:place]
            cells.append(cell)
            if len(cells) == _CELLS_TOGETHER:
                spend(_CELLS_TOGETHER)
                yield cells
                cells = []
        yield cells

    def _quoted_cell(self, text: str, place: int) -> tuple[str, int]:
        """The cell whose first character behind its quotation mark is at `place`, and where it ends. Raises csv.Error,
        in the words of Python's own reader.
        """
        begin = place
        while (end := text.find('"', place)) >= 0 and text.startswith('"', end + 1):
            place = end + 2
            spend(1)
        if end < 0:
            raise csv.Error("unexpected end of data")
        if end + 1 < len(text) and text[end + 1] != self._delimiter:
            raise csv.Error(f"'{self._delimiter}' expected after '\"'")
        return text[begin:end].replace('""', '"'), end + 1
