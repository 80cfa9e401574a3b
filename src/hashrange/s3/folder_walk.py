"""Which objects are in a bucket's folder, in the order of the UTF-8 bytes of their keys? Blocks, and is called on
threads.

Folders are read when their turn comes, those that cannot hold a key that is wanted never. Of the names in a folder,
which may be very many, only the next ones are in memory. Names that no key would get are not listed: other files of the
folder's owner, links, and whatever is no file.
"""

import heapq
import os
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.items import steps
from hashrange.s3.key_paths import FILE_ENDING, names_of_key, part_of_name

BEHIND_ALL = b"\xff"
"""Behind all that begins with a text: no UTF-8 has this byte."""
_HIGH = chr(0x10FFFF) * 256
"""Behind every name."""
FEW_AT_ONCE = 1024
"""Names of a folder that are in memory for one page of a list: a few more than the page has."""
MANY_AT_ONCE = 16 * 1024
"""Names of a folder that are in memory for a list of all objects: some 5 MB. One of a million is read 62 times."""


class FoundObject(NamedTuple):
    """An object, or what the keys of several begin with up to the delimiter."""

    key: str
    path: str
    """The object's file; empty for a common prefix."""
    found: os.stat_result | None


class ListRange(NamedTuple):
    """Which keys are wanted."""

    prefix: str = ""
    after: bytes = b""
    """Only keys behind this one, as UTF-8; or behind all that begin with a text (BEHIND_ALL)."""
    delimiter: str = ""
    """Keys that have this behind the prefix are listed once together, up to it."""


class _Unit(NamedTuple):
    """A name in a folder, in the order of the first key that it may stand for."""

    order: bytes
    """The key of an object, or what all keys in a folder begin with."""
    rank: int
    """0: an object; 1: a folder behind a slash; 2: a folder in which a long segment goes on."""
    name: str


class FolderWalk:
    """A walk over one bucket."""

    def __init__(self, root: str, wanted: ListRange, is_folding: bool, at_once: int = MANY_AT_ONCE) -> None:
        self.at_once = at_once
        """Names of one folder that are in memory at a time."""
        self._root = root
        self._prefix = wanted.prefix.encode()
        self._prefix_text = wanted.prefix
        self._after = wanted.after
        self._delimiter = wanted.delimiter
        self._is_folding = is_folding

    def __iter__(self) -> Iterator[FoundObject]:
        """The objects and common prefixes that are wanted. Raises OSError."""
        for key, path in self._keys_of(_Units(self, b"", self._root)):
            if key <= self._after:  # below a common prefix that was found meanwhile
                continue
            text = key.decode()
            common = self._common_prefix(text)
            if common is not None:
                self._after = common.encode() + BEHIND_ALL
                yield FoundObject(common, "", None)
                continue
            try:
                found = os.lstat(path)
            except FileNotFoundError:  # deleted meanwhile
                continue
            yield FoundObject(text, path, found)

    def _common_prefix(self, key: str) -> str | None:
        if not self._delimiter:
            return None
        place = key.find(self._delimiter, len(self._prefix_text))
        return None if place < 0 else key[: place + len(self._delimiter)]

    def _keys_of(self, units: "_Units", beginning: bytes = b"") -> Iterator[tuple[bytes, str]]:
        """Key and path of each wanted object that units stand for, as long as their order has this beginning."""
        stack = [units]
        while stack:
            units = stack[-1]
            unit = units.first()
            if unit is None or (len(stack) == 1 and not unit.order.startswith(beginning)):
                stack.pop()
                continue
            path = units.pop()
            if not self.may_hold(unit):
                continue
            if unit.rank == 0:
                if self._is_listed(unit.order, path):
                    yield unit.order, path
            elif unit.rank == 1:
                stack.append(_Units(self, unit.order, path))
            else:  # other names of the same beginning may stand for keys between those of this folder
                continued = self._keys_of(_Units(self, unit.order, path))
                yield from heapq.merge(continued, self._keys_of(units, unit.order))

    def may_hold(self, unit: _Unit) -> bool:
        """True if the unit may stand for a key that is still wanted."""
        order, prefix = unit.order, self._prefix
        if unit.rank == 0:
            return order > self._after and order.startswith(prefix)
        return order + BEHIND_ALL > self._after and (order.startswith(prefix) or prefix.startswith(order))

    def may_hold_below(self, beginning: bytes) -> bool:
        """True if a key with this beginning may still be wanted."""
        return beginning + BEHIND_ALL > self._after

    def text_behind(self, beginning: bytes, last: _Unit | None) -> str:
        """Only keys with this beginning are wanted that go on with this text, or one behind it; `last`: the last unit
        with this beginning that has been passed over.
        """
        first = max(self._after, self._prefix, b"" if last is None else last.order)
        if not first.startswith(beginning):
            return ""
        rest = first[len(beginning) :]
        try:
            return rest.decode()
        except UnicodeDecodeError as error:  # BEHIND_ALL, or a client's token
            return rest[: error.start].decode()

    def _is_listed(self, key: bytes, path: str) -> bool:
        """True if the path is that of the key, and the only one."""
        names = os.path.join(self._root, *names_of_key(key.decode(), self._is_folding))
        if path == names:
            return True
        return path == names + FILE_ENDING and not os.path.isfile(names)


class _Units:
    """What is in a folder and may hold a wanted key, in order. `FolderWalk.at_once` of them are in memory, and the
    folder is read again for those behind.
    """

    def __init__(self, walk: FolderWalk, beginning: bytes, folder: str) -> None:
        self._walk, self._beginning, self._folder = walk, beginning, folder
        self._left: list[_Unit] = []
        """The first is last."""
        self._last: _Unit | None = None
        self._has_more = True

    def first(self) -> _Unit | None:
        """The first that is left; None: nothing."""
        if not self._left and self._has_more:
            self._read()
        return self._left[-1] if self._left else None

    def pop(self) -> str:
        """Pass over the first, and return its path."""
        self._last = self._left.pop()
        return os.path.join(self._folder, self._last.name)

    def _read(self) -> None:
        walk, last, kept = self._walk, self._last, _FirstUnits(self._walk.at_once, len(self._beginning))
        low = walk.text_behind(self._beginning, last)
        for entry in self._entries():
            name = entry.name
            # Most names are their own text, and are passed over before anything is made of them.
            if "%" not in name and (name > kept.high or (name < low and not low.startswith(name))):
                continue
            unit = _unit_of(entry, self._beginning)
            if unit is not None and walk.may_hold(unit) and (last is None or unit > last):
                kept.add(unit)
        self._left = kept.in_order()
        self._has_more = len(self._left) == walk.at_once
        self._left.reverse()

    def _entries(self) -> "Iterator[os.DirEntry[str]]":
        if not self._walk.may_hold_below(self._beginning):
            return
        try:
            with os.scandir(self._folder) as entries:
                yield from entries
        except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
            return


class _FirstUnits:
    """The first of many units, at most so many; half as many more are in memory meanwhile.

    Nothing is sorted or freed in one call that takes long: other threads have turns in between.
    """

    def __init__(self, most: int, beginning_length: int) -> None:
        self.high = _HIGH
        """No text behind this one, behind what all units begin with, will be among them."""
        self._most, self._beginning_length = most, beginning_length
        self._units: list[_Unit] = []
        self._last: _Unit | None = None

    def add(self, unit: _Unit) -> None:
        """Look at one more."""
        if self._last is not None and unit > self._last:
            return
        self._units.append(unit)
        if len(self._units) > self._most + self._most // 2:
            self._last = self.in_order()[-1]
            self.high = self._last.order[self._beginning_length :].decode()

    def in_order(self) -> list[_Unit]:
        """The first ones so far."""
        self._units = ordered = steps.sort(self._units)
        while len(ordered) > self._most:
            del ordered[max(self._most, len(ordered) - steps.TOGETHER_MEMBERS) :]
        return ordered


def _unit_of(entry: "os.DirEntry[str]", beginning: bytes) -> _Unit | None:
    part = part_of_name(entry.name)
    if part is None:
        return None
    text = beginning + part.text.encode()
    if entry.is_dir(follow_symlinks=False):
        if part.is_file_ending:
            return None
        return _Unit(text, 2, entry.name) if part.is_continued else _Unit(text + b"/", 1, entry.name)
    is_object = entry.is_file(follow_symlinks=False) and not part.is_continued
    return _Unit(text, 0, entry.name) if is_object else None
