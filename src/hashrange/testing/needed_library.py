"""What is said when a library is not installed that only some suites need? What to install."""

from collections.abc import Iterator
from contextlib import contextmanager

LIBRARIES = ("boto3", "botocore")


@contextmanager
def boto3_needed(purpose: str) -> Iterator[None]:
    """Within the block, boto3 and botocore are imported.
    If one is not there, raises ModuleNotFoundError that says what to install.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in LIBRARIES:
            raise
        told = f"{purpose} need{'' if ' and ' in purpose else 's'} boto3, which is not installed: pip install boto3"
        raise ModuleNotFoundError(told, name=error.name) from error
