"""Into which table do the lines of a file go?
The one of the file's name, which may have a number for the order in front.
"""

import re

from hashrange.operations.operation import Scope
from hashrange.tables.schema import Table

_order_number = re.compile(r"[0-9]+[-_.]")


def table_of_stem(scope: Scope, stem: str) -> Table | None:
    """The table `Users` for `Users`, and for `20-Users`, `20_Users` and `20.Users` unless there
    is a table of that whole name.
    """
    number = _order_number.match(stem)
    for name in (stem, stem[number.end() :] if number else stem):
        table = scope.tables.get(name)
        if table is not None:
            return table.schema
    return None
