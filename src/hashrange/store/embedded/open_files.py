"""How many files may the engine hold open? A quarter of the descriptors that the process may have,
at most 512; connections take most others.

The engine opens data files as they are read, and keeps up to its share of them open. Without a free descriptor a read
or a flush fails, so connections leave the engine's share alone (`server/descriptors.py`).
"""

OPEN_FILES_MAX = 512
ENGINE_SHARE = 4
"""If the process may have few descriptors, the engine takes one in this many; it then reopens files more often."""


def descriptors_max() -> int | None:
    """How many descriptors the process may have; None if no limit is known."""
    try:
        import resource  # noqa: PLC0415 - absent on Windows
    except ImportError:
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def open_files_max(descriptors: int | None) -> int:
    """How many data files the engine may hold open; `descriptors`: how many the process may have."""
    return OPEN_FILES_MAX if descriptors is None else min(OPEN_FILES_MAX, descriptors // ENGINE_SHARE)
