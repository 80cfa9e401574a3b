"""How many random runs has a test? Some in `make test`, all in `make soak`."""

import os


def seeds(some: int, all_of_them: int) -> range:
    """The seeds of a test; each seed is one run."""
    return range(all_of_them if "HASHRANGE_SOAK" in os.environ else some)
