"""How does one process keep others out? By a lock on an open file or folder, which the system releases when the
process ends in any way.
"""

import os

if os.name == "nt":  # pragma: no cover - exercised on Windows only
    import msvcrt

    def try_lock(descriptor: int) -> bool:
        """Lock an open file; False if another process, or another opening, has locked it. Raises OSError."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError:
            return False
        return True
else:
    import fcntl

    def try_lock(descriptor: int) -> bool:
        """Lock an open file or folder; False if another process, or another opening, has locked it. Raises OSError."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
