"""From which number on are commits counted after a start? From the engine's sequence number, of which each commit takes at least one.

So positions grow across restarts, and nothing has to be written for that. An engine that was put under a running store,
or was reopened without the last commits, may be behind the positions already assigned: then the difference is stored
in it.
"""

from hashrange.store.embedded import layout
from hashrange.store.embedded.engine import Engine


def last_position(engine: Engine, at_least: int) -> int:
    """The position before the next commit to a newly opened engine, not below `at_least`. Raises bare exceptions."""
    row = engine.get(layout.AHEAD_KEY)
    sequence: int = engine.latest_sequence_number()
    position = sequence + (0 if row is None else layout.decode_counter(row))
    if position >= at_least:
        return position
    engine.put(layout.AHEAD_KEY, layout.encode_counter(at_least - sequence))
    return at_least
