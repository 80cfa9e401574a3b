"""How is a small file system filled, and given room again?"""

import errno
import subprocess
from pathlib import Path

FULL_MB, ROOMY_MB = 24, 100


def fill(place: Path, left_bytes: int) -> None:
    """Leave about this much room; fills what has become free since the last time."""
    filler = place / "filler"
    with filler.open("ab", buffering=0) as file:
        for size_bytes in (1024 * 1024, 4096):
            try:
                while True:
                    file.write(bytes(size_bytes))
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
        file.truncate(max(0, file.tell() - left_bytes))


def give_room(place: Path) -> None:
    """Make the file system large, and delete what filled it."""
    subprocess.run(["mount", "-o", f"remount,size={ROOMY_MB}m", str(place)], check=True)
    (place / "filler").unlink(missing_ok=True)
