"""Which lane tries again when an invocation ends? One that was throttled, of the same function if there
is one; the one that waits longest.

After a change of a function's reserved concurrency, all its lanes do.
"""

from hashrange.functions.names import without_latest
from hashrange.triggers.consumers import ConsumedShard
from hashrange.triggers.lanes import Lane


class ThrottledLanes:
    """Lanes whose function could not run their batch, because too many invocations ran."""

    def __init__(self) -> None:
        self._by_function: dict[str, dict[Lane, ConsumedShard]] = {}
        """By ARN of the function, without a qualifier."""

    def clear(self) -> None:
        """Forget all."""
        self._by_function = {}

    def add(self, shard: ConsumedShard, lane: Lane) -> None:
        """Add a lane behind all others."""
        self._by_function.setdefault(without_latest(shard.consumer.mapping.function_arn), {})[lane] = shard

    def remove(self, shard: ConsumedShard, lane: Lane) -> None:
        """Remove a lane, if it is there, because it is tried again."""
        function_arn = without_latest(shard.consumer.mapping.function_arn)
        lanes = self._by_function.get(function_arn)
        if lanes is not None and lanes.pop(lane, None) is not None and not lanes:
            del self._by_function[function_arn]

    def take(self, function_arn: str) -> tuple[ConsumedShard, Lane] | None:
        """The lane to be tried after an invocation of this function; None if none is throttled."""
        if not self._by_function:
            return None
        lanes = self._by_function.get(without_latest(function_arn)) or next(iter(self._by_function.values()))
        lane, shard = next(iter(lanes.items()))
        self.remove(shard, lane)
        return shard, lane

    def take_all(self, function_arn: str) -> list[tuple[ConsumedShard, Lane]]:
        """All lanes of this function. `function_arn`: without a qualifier."""
        return [(shard, lane) for lane, shard in self._by_function.pop(function_arn, {}).items()]
