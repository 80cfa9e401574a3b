"""How does a request name its tables? By members that many operations share: what records say of them (`operations/operation.py`)."""

from collections.abc import Iterable
from typing import Protocol

from hashrange.messages.requests import TABLE_ARN_REQUIRED, TABLE_NAME_REQUIRED
from hashrange.wire.rules import RequestRules, RequiredMember

TABLE_NAME_FIRST = RequestRules(required=RequiredMember("TableName", TABLE_NAME_REQUIRED))
"""The table's name is asked for, and its length checked, before all constraints."""
GIVEN_TABLE_NAME_FIRST = RequestRules(required=RequiredMember("TableName", None))
"""The same of a name that may be absent."""
TABLE_ARN_FIRST = RequestRules(required=RequiredMember("ResourceArn", TABLE_ARN_REQUIRED, is_table_name=False))
"""A table's ARN is asked for before all constraints."""

_ARN_TABLE = ":table/"


class _NamesTable(Protocol):
    @property
    def TableName(self) -> str | None: ...  # noqa: N802


class _NamesTableArn(Protocol):
    @property
    def TableArn(self) -> str | None: ...  # noqa: N802


class _NamesResource(Protocol):
    @property
    def ResourceArn(self) -> str: ...  # noqa: N802


class _NamesStream(Protocol):
    @property
    def StreamArn(self) -> str: ...  # noqa: N802


def by_table_name(request: _NamesTable) -> Iterable[str]:
    """The table of `TableName`, if that is given."""
    name = request.TableName
    return () if name is None else (name,)


def by_table_arn(request: _NamesTableArn) -> Iterable[str]:
    """The table of `TableArn`, if that is given."""
    arn = request.TableArn
    return () if arn is None else (arn,)


def by_resource_arn(request: _NamesResource) -> Iterable[str]:
    """The table of `ResourceArn`, or the one whose stream that is."""
    return (request.ResourceArn,)


def by_stream_arn(request: _NamesStream) -> Iterable[str]:
    """The table whose stream `StreamArn` is."""
    return (request.StreamArn,)


def by_no_table(_request: object) -> Iterable[str]:
    """None: the request names no table."""
    return ()


def bare_name(name_or_arn: str) -> str:
    """The table's name; of an ARN, also of a stream's or index's, the name of its table."""
    _, mark, rest = name_or_arn.partition(_ARN_TABLE)
    return rest.partition("/")[0] if mark else name_or_arn
