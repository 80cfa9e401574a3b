"""How is text that others have written shown in a terminal or a log? Without the characters that command a terminal or reorder what is read."""


def escape_controls(text: str) -> str:
    r"""`text` in one line, with escapes such as `\x1b` and `\u202e` for all that Unicode calls not printable.

    These are control characters (ESC, BEL, U+009B, line ends), format characters (U+202E and its like), separators
    other than the space, surrogates, and code points that mean nothing. A tab stays.
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one == "\t" else _escaped(one) for one in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")
