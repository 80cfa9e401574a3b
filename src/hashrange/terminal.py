"""How is text that others have written shown in a terminal or a log?
Without the characters that command a terminal or reorder what is read, and without passwords in URLs.
"""

import re


def escape_controls(text: str) -> str:
    r"""`text` in one line, with escapes such as `\x1b` and `\u202e` for all that Unicode calls not printable.

    These are control characters (ESC, BEL, U+009B, line ends), format characters (U+202E and its like), separators
    other than the space, surrogates, and code points that mean nothing. A tab stays.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else one.encode("unicode_escape").decode() for one in text)


def without_user(url: str, mark: str = "") -> str:
    """A URL without user and password, which `mark` replaces."""
    return re.sub(r"^([a-zA-Z]*://)?.*@", rf"\1{mark}", url, flags=re.DOTALL)


def escape_json(text: str) -> str:
    r"""A line of JSON with JSON's own escapes, such as `\u202e`, for all that Unicode calls not printable.
    It stays the same value.

    JSON has such characters only in its strings. One beyond U+FFFF becomes two escapes.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else _escaped_in_json(one) for one in text)


def _escaped_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
