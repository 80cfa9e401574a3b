"""How are the files of models read and written? As a whole; what is there already is not overwritten."""

from hashrange.toolkit.failures import UsageFault


def read_file(path: str) -> bytes:
    """The content of a file. Raises UsageFault."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name cannot be used"
        raise UsageFault(f"the file {path} cannot be read: {reason}. Name another one.") from error


def write_file(path: str, text: str) -> None:
    """Write a new file. Raises UsageFault if it is there already, or cannot be written."""
    try:
        with open(path, "x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise UsageFault(f"the file {path} exists already. Name another one.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "its name cannot be used"
        raise UsageFault(f"the file {path} cannot be written: {reason}. Name another one.") from error
