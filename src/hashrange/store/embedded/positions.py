"""At which position do commits begin after a start? After the engine's last sequence number,
which each commit raises by at least one.

So positions grow across restarts, and nothing has to be written for that. The sequence number of an engine that
replaces another one in a running store, or was reopened without the last commits, may be below the last position: then
the difference is stored in the engine (`layout.AHEAD_KEY`).
"""

from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine


def last_position(engine: Engine, at_least: int) -> int:
    """The position of the last commit in a newly opened engine.

    If `at_least` is greater, returns `at_least`, and stores its difference from the sequence number at AHEAD_KEY.
    Raises StorageCorruption and the engine's bare exceptions.
    """
    row = engine.get(layout.AHEAD_KEY)
    sequence: int = engine.latest_sequence_number()
    position = sequence + (0 if row is None else layout.decode_counter(row))
    if position >= at_least:
        return position
    engine.put(layout.AHEAD_KEY, layout.encode_counter(at_least - sequence))
    return at_least
