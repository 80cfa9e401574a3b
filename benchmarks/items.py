"""Which items fill a table? Orders of a shop, 20 per customer, padded to a size;
the same for every server, from one seed.

The padding is random text, which compression shrinks by a quarter at most, so compressing servers gain little on disk.
"""

import json
import random
import string
from functools import cache

from hashrange.items.sizes import item_size_bytes

STATUSES = ("PLACED", "UNPAID", "PACKED", "MOVING", "CLOSED")
SEED = 20_261
_NOISE_LENGTH = 1 << 20


def partition_key(partition: int) -> str:
    """The partition key of customer number `partition`."""
    return f"customer-{partition:07d}"


def sort_key(sort: int) -> str:
    """The sort key of the customer's order number `sort`."""
    return f"order-{sort:04d}"


def email(partition: int) -> str:
    """The customer's e-mail address, the key of the first index."""
    return f"{noise(partition, 10)}@example.com"


def noise(number: int, length: int) -> str:
    """Return random text, the same for the same number (a multiplicative hash picks the place)."""
    start = (number * 2_654_435_761 & 0xFFFF_FFFF) % (_NOISE_LENGTH - length)
    return _all_noise()[start : start + length]


@cache
def _all_noise() -> str:
    return "".join(random.Random(SEED).choices(string.ascii_letters + string.digits, k=_NOISE_LENGTH))


class ItemMaker:
    """Makes the JSON of items of about `size_bytes`, counted by the service's size rules."""

    def __init__(self, size_bytes: int, sort_keys_per_partition: int) -> None:
        self.sort_keys_per_partition = sort_keys_per_partition
        self._padding_length = 0
        missing = size_bytes - item_size_bytes(json.loads(self.item(0)))
        assert missing >= 0, f"an item has at least {size_bytes - missing} bytes"
        self._padding_length = missing

    def item(self, number: int, revision: int = 0) -> str:
        """Return the item at position `number`; another revision has the same key, size and total, but other text."""
        partition, sort = divmod(number, self.sort_keys_per_partition)
        seed = number * 31 + revision
        return (
            f'{{"pk":{{"S":"{partition_key(partition)}"}},"sk":{{"S":"{sort_key(sort)}"}},'
            f'"a":{{"N":"{1000 + revision}"}},"b":{{"M":{{"c":{{"S":"{noise(seed, 12)}"}},"d":{{"N":"7"}}}}}},'
            f'"total":{{"N":"{sort * 10 + 5}"}},"status":{{"S":"{STATUSES[number % 5]}"}},'
            f'"email":{{"S":"{email(partition)}"}},"created":{{"S":"2026-01-{1 + sort:02d}T10:00:00Z"}},'
            f'"text":{{"S":"{noise(seed + 1, self._padding_length)}"}}}}'
        )
