"""Which requests to other services may leave the process while a database answers? Those to which the caller,
or moto, has said yes; the others are refused.

A suite that has replaced moto's `mock_aws` by `mock_dynamodb` would reach AWS with all its other clients, with the
credentials of whoever runs it.
"""

from collections.abc import Callable, Collection
from typing import Any, NoReturn
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest
from botocore.exceptions import BotoCoreError
from botocore.loaders import Loader

from hashrange.aws_services.host_endings import AWS_ENDINGS
from hashrange.testing.botocore_transport import moto_handlers
from hashrange.written.names import nearest_name

ALWAYS_ANSWERED = ("dynamodb", "dynamodbstreams")
"""Services, as boto3 names them, that a database answers whatever their endpoint."""


class ServiceNotMocked(BotoCoreError):  # type: ignore[misc] # botocore has no types
    """Raised for a request that would have gone to AWS, before anything is sent. Nothing is retried."""

    fmt = (
        "{service} is not mocked: {operation} would have been sent to {host}. While mock_dynamodb or the fixture"
        " hashrange_boto3 is in effect, Hashrange answers DynamoDB, DynamoDB Streams, CloudWatch, Application Auto"
        " Scaling, DAX and STS; also Lambda, if the database has Settings(functions=True)."
        " Let moto's mock_aws answer {service} around the same test, give its client an endpoint_url, or let it call"
        " AWS: mock_dynamodb(passthrough=[{service!r}])."
    )


def may_leave(service: str, url: str, passthrough: frozenset[str]) -> bool:
    """True if a request to a service, as boto3 names it, may be sent as if there were no database."""
    host = urlsplit(url).hostname or ""
    return service in passthrough or not host.endswith(AWS_ENDINGS) or _is_moto_active()


def _is_moto_active() -> bool:
    """True within moto's mock. Source: `enabled` of moto's handler, which is what moto itself goes by."""
    return any(getattr(handler, "enabled", False) for handler in moto_handlers())


def refusing(operation_model: Any) -> Callable[[AWSPreparedRequest], NoReturn]:
    """A function that sends nothing, and refuses the requests of one operation."""

    def refuse(request: AWSPreparedRequest) -> NoReturn:
        service, host = operation_model.service_model.service_name, urlsplit(request.url).hostname
        raise ServiceNotMocked(service=service, operation=operation_model.name, host=host)

    return refuse


def checked_passthrough(services: Collection[str]) -> frozenset[str]:
    """The services that a caller lets through, as boto3 names them. Raises TypeError and ValueError."""
    if isinstance(services, str):
        raise TypeError(f"mock_dynamodb takes a list of services: write passthrough=[{services!r}].")
    if not isinstance(services, Collection) or not all(isinstance(service, str) for service in services):
        raise TypeError(f"passthrough takes the names of services, as in passthrough=['s3'], not {services!r}.")
    for service in services:
        if service in ALWAYS_ANSWERED:
            raise ValueError(f"mock_dynamodb answers {service} itself, so passthrough cannot name it.")
    if services:
        known = Loader().list_available_services("service-2")
        for service in services:
            if service not in known:
                near = nearest_name(service, known)
                hint = "." if near is None else f"; did you mean {near!r}?"
                raise ValueError(f"passthrough names {service!r}, which is no service of boto3{hint}")
    return frozenset(services)
