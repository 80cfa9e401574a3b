"""How do commands write to standard output? With `say`, so that a failed write never shows a traceback."""

from hashrange.errors import HashrangeError


class OutputError(HashrangeError):
    """Standard output cannot be written. `is_unread`: True if it is a pipe that nobody reads any more."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"standard output cannot be written: {error.strerror}. Mend where it is directed to.")
        self.is_unread = isinstance(error, BrokenPipeError)


def say(text: str, *, end: str = "\n", is_flushed: bool = False) -> None:
    """Write `text` and `end` to standard output, and flush it if `is_flushed`. Raises OutputError."""
    try:
        print(text, end=end, flush=is_flushed)
    except OSError as error:
        raise OutputError(error) from error
