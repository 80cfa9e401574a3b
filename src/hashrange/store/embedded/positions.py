"""Where do the positions of commits go on? At the engine's own sequence number, of which each commit takes one at least.

So positions grow over restarts, and nothing has to be written for it. An engine that was put under a running store, or was reopened without
the last commits, may be behind what positions have come to: then it is noted in it by how much.
"""

from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine


def first_position(engine: Engine, at_least: int) -> int:
    """The position before the next commit to an engine that has just been opened. Raises the engine's bare exceptions."""
    row = engine.get(layout.AHEAD_KEY)
    sequence: int = engine.latest_sequence_number()
    position = sequence + (0 if row is None else layout.decode_counter(row))
    if position >= at_least:
        return position
    engine.put(layout.AHEAD_KEY, layout.encode_counter(at_least - sequence))
    return at_least
