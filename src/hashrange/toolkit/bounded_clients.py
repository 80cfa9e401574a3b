"""How does a client of boto3 refuse a reply without end? It reads replies as bounded_replies.py does, and does not ask
again for one that was too long.
"""

from typing import Any

from hashrange.bounded_replies import BoundedResponse, EndlessReply


def bound_replies(client: Any) -> None:
    """Let a client of boto3 read replies within limits. Its requests raise EndlessReply beyond them."""
    # Imported here: boto3 is in an extra.
    from botocore.awsrequest import (
        AWSHTTPConnection,
        AWSHTTPConnectionPool,
        AWSHTTPSConnection,
        AWSHTTPSConnectionPool,
    )

    # botocore has no public way to choose the class of connections.
    pools = client._endpoint.http_session._pool_classes_by_scheme  # noqa: SLF001
    pools["http"] = _bounded(AWSHTTPConnectionPool, AWSHTTPConnection)
    pools["https"] = _bounded(AWSHTTPSConnectionPool, AWSHTTPSConnection)
    client.meta.events.register("needs-retry", _give_up)


def _bounded(pool: Any, connection: Any) -> type:
    bounded = type(connection.__name__, (connection,), {"response_class": BoundedResponse})
    return type(pool.__name__, (pool,), {"ConnectionCls": bounded})


def _give_up(caught_exception: BaseException | None = None, **_: Any) -> None:
    """Raise the EndlessReply that an error of botocore stands for: the next reply would have no end either."""
    cause = caught_exception
    while cause is not None:
        if isinstance(cause, EndlessReply):
            raise cause
        cause = cause.__cause__ or cause.__context__
