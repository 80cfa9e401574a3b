"""May a table be changed now? Only while it is ACTIVE, its tags also while it is UPDATING;
otherwise ResourceInUseException. (Policies: `policies/resource.py`.)
"""

from hashrange.errors import ResourceInUseException
from hashrange.messages import tables as say
from hashrange.tables.schema import Table
from hashrange.tables.states import serves_items, status

_DOING = {"CREATING": "created", "UPDATING": "updated", "DELETING": "deleted"}


def require_active(table: Table, now_seconds: float) -> None:
    """Raise ResourceInUseException, which names the table's state, unless the table is ACTIVE."""
    current = status(table, now_seconds)
    if current != "ACTIVE":
        raise ResourceInUseException(say.TABLE_IN_USE.format(doing=_DOING[current], name=table.name))


def require_changeable_tags(table: Table, now_seconds: float) -> None:
    """Raise ResourceInUseException while the table is CREATING or DELETING; tags may change while it is UPDATING."""
    if not serves_items(table, now_seconds):
        require_active(table, now_seconds)
