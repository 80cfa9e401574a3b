"""Files of models are read up to a size."""

from pathlib import Path

import pytest

from hashrange.toolkit.failures import UsageFault
from hashrange.toolkit.models.files import FILE_BYTES_MAX, read_file


def test_a_file_of_the_greatest_size_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(b" " * FILE_BYTES_MAX)
    assert len(read_file(str(path))) == FILE_BYTES_MAX


def test_a_larger_file_is_not_read_further(tmp_path: Path) -> None:
    """The file takes no place on the disk, and could not be read into memory."""
    path = tmp_path / "model.json"
    with path.open("wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(UsageFault, match=r"model.json has more than 4,000,000 bytes. Leave out samples, or split the"):
        read_file(str(path))
