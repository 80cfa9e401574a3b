"""Which objects are in a bucket's folder, in the order of the UTF-8 bytes of their keys? Blocks, and is called on
threads.

Folders are read when their turn comes, those that cannot hold a key that is wanted never. Names that no key would get
are not listed: other files of the folder's owner, links, and whatever is no file.
"""

import heapq
import os
from collections.abc import Iterator
from typing import NamedTuple

from hashrange.s3.key_paths import FILE_ENDING, names_of_key, part_of_name

BEHIND_ALL = b"\xff"
"""Behind all that begins with a text: no UTF-8 has this byte."""


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
    path: str


class FolderWalk:
    """A walk over one bucket."""

    def __init__(self, root: str, wanted: ListRange, is_folding: bool) -> None:
        self._root = root
        self._prefix = wanted.prefix.encode()
        self._prefix_text = wanted.prefix
        self._after = wanted.after
        self._delimiter = wanted.delimiter
        self._is_folding = is_folding

    def __iter__(self) -> Iterator[FoundObject]:
        """The objects and common prefixes that are wanted. Raises OSError."""
        for key, path in self._keys_of(self._units(b"", self._root)):
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

    def _keys_of(self, units: list[_Unit]) -> Iterator[tuple[bytes, str]]:
        """Key and path of each wanted object that units stand for; the first unit is last."""
        stack = [units]
        while stack:
            if not stack[-1]:
                stack.pop()
                continue
            unit = stack[-1].pop()
            if not self._may_hold(unit):
                continue
            if unit.rank == 0:
                if self._is_listed(unit):
                    yield unit.order, unit.path
            elif unit.rank == 1:
                stack.append(self._units(unit.order, unit.path))
            else:
                mixed = []  # other names of the same beginning, whose keys may stand between those of this folder
                while stack[-1] and stack[-1][-1].order.startswith(unit.order):
                    mixed.append(stack[-1].pop())
                continued = self._units(unit.order, unit.path)
                yield from heapq.merge(self._keys_of(continued), self._keys_of(mixed[::-1]))

    def _may_hold(self, unit: _Unit) -> bool:
        """True if the unit may stand for a key that is wanted."""
        order, prefix = unit.order, self._prefix
        if unit.rank == 0:
            return order > self._after and order.startswith(prefix)
        return order + BEHIND_ALL > self._after and (order.startswith(prefix) or prefix.startswith(order))

    def _is_listed(self, unit: _Unit) -> bool:
        """True if the path is that of the key, and the only one."""
        names = os.path.join(self._root, *names_of_key(unit.order.decode(), self._is_folding))
        if unit.path == names:
            return True
        return unit.path == names + FILE_ENDING and not os.path.isfile(names)

    def _units(self, beginning: bytes, folder: str) -> list[_Unit]:
        """What is in a folder, the first last."""
        units = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    unit = _unit_of(entry, beginning)
                    if unit is not None:
                        units.append(unit)
        except (FileNotFoundError, NotADirectoryError):  # deleted meanwhile
            return []
        units.sort(reverse=True)
        return units


def _unit_of(entry: "os.DirEntry[str]", beginning: bytes) -> _Unit | None:
    part = part_of_name(entry.name)
    if part is None:
        return None
    text = beginning + part.text.encode()
    if entry.is_dir(follow_symlinks=False):
        if part.is_file_ending:
            return None
        return _Unit(text, 2, entry.path) if part.is_continued else _Unit(text + b"/", 1, entry.path)
    is_object = entry.is_file(follow_symlinks=False) and not part.is_continued
    return _Unit(text, 0, entry.path) if is_object else None
