"""At which path below its bucket's folder is the object of a key? Pure; docs/formats/s3-folder.md shows examples.

Each segment of a key, between its slashes, is the name of a folder or, the last one, of a file. Ordinary segments are
their own names. Of others, characters are escaped as in URLs, and what else a name must say stands behind a `%` that is
no escape:

    %        the empty segment, as at the end of `photos/`
    NAME%+   a folder in which a segment goes on that is too long for one name
    NAME%cX  on file systems that take `a` and `A` for the same: which letters of NAME are capitals, as a number in hex
    NAME%file  the object whose key is also the beginning of others' keys: `a`, beside `a/b`
    NAME%json  what is known of an object beside its content, in a tree of folders of its own

No name is `.` or `..`, and none holds a slash or NUL, so no key leads out of its bucket's folder.
"""

import re
from functools import lru_cache
from typing import NamedTuple

NAME_BYTES_MAX = 180
"""Most bytes of a name without its endings, which take up to 57 more: file systems allow 255."""
CONTINUED, FILE_ENDING, RECORD_ENDING = "%+", "%file", "%json"
_CAPITALS = "%c"

_is_ordinary = re.compile(r"[A-Za-z0-9_=+@(),!~#$&'\[\]{};^-][A-Za-z0-9._=+@(),!~#$&'\[\]{};^ -]*", re.ASCII).fullmatch
_has_capitals = re.compile(r"[A-Z]").search
_is_device = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?", re.IGNORECASE | re.ASCII).fullmatch
"""Names that Windows takes for devices, with any ending."""
_unsafe = frozenset('%\\:*?"<>|\x7f') | frozenset(map(chr, range(32)))
_parts_of = re.compile(
    rf"(%(?=%|$)|(?:[^%]|%[0-9A-F]{{2}})+)({_CAPITALS}[0-9a-f]+)?({re.escape(CONTINUED)})?({FILE_ENDING})?"
).fullmatch
_escapes = re.compile(r"(?:%[0-9A-F]{2})+")


class NamePart(NamedTuple):
    """What a name on disk says."""

    text: str
    """The segment, or the part of it, that the name stands for."""
    is_continued: bool
    """True if the name is that of a folder in which the segment goes on."""
    is_file_ending: bool
    """True if the name is that of an object beside a folder of the same segment."""


@lru_cache(4096)
def names_of_segment(segment: str, is_folding: bool) -> tuple[str, ...]:
    """The names of one segment of a key; all but the last are folders in which it goes on.

    `is_folding`: the file system takes capitals for small letters, and may write letters beyond ASCII in another form.
    """
    is_plain = _is_ordinary(segment) is not None and segment[-1] not in ". " and _is_device(segment) is None
    if is_plain and len(segment) <= NAME_BYTES_MAX and not (is_folding and _has_capitals(segment)):
        return (segment,)
    if not segment:
        return ("%",)
    names, letters, size_bytes = [], list[str](), 0
    for letter in _escaped(segment, is_folding):
        letter_bytes = len(letter.encode())
        if size_bytes + letter_bytes > NAME_BYTES_MAX:
            names.append(_named(letters, is_folding) + CONTINUED)
            letters, size_bytes = [], 0
        letters.append(letter)
        size_bytes += letter_bytes
    return (*names, _named(letters, is_folding))


def names_of_key(key: str, is_folding: bool) -> list[str]:
    """The names on the path of a key's object, below its bucket's folder."""
    return [name for segment in key.split("/") for name in names_of_segment(segment, is_folding)]


def part_of_name(name: str) -> NamePart | None:
    """What a name says; None for a name that no key has. That the name is the one which the key would get is not
    checked: `names_of_key` of the whole key tells.
    """
    if "%" not in name:
        return NamePart(name, False, False) if _is_text(name) else None
    found = _parts_of(name)
    if found is None:
        return None
    body, _, continued, ending = found.groups()
    try:
        text = "" if body == "%" else _escapes.sub(_unescaped, body)
        text.encode()
    except ValueError:  # the bytes of escapes, or of the name, are not UTF-8
        return None
    return NamePart(text, continued is not None, ending is not None)


def _is_text(name: str) -> bool:
    """True unless the bytes of a name are no UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escaped(segment: str, is_folding: bool) -> list[str]:
    """The characters of a segment, each as it stands in a name."""
    letters = [_escape(one) if one in _unsafe or (is_folding and not one.isascii()) else one for one in segment]
    if segment in {".", ".."}:
        return [_escape(one) for one in segment]
    if segment[-1] in ". ":
        letters[-1] = _escape(segment[-1])
    if _is_device(segment):
        letters[0] = _escape(segment[0])
    return letters


def _escape(letter: str) -> str:
    return "".join(f"%{byte:02X}" for byte in letter.encode())


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode()


def _named(letters: list[str], is_folding: bool) -> str:
    """The name of these characters, with the ending that tells its capitals apart, if it needs one."""
    name = "".join(letters)
    if not is_folding:
        return name
    capitals = sum(1 << place for place, letter in enumerate(letters) if len(letter) == 1 and "A" <= letter <= "Z")
    return f"{name}{_CAPITALS}{capitals:x}" if capitals else name
