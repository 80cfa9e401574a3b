"""How does the log name a mapping? By its function and its table, as users do, and not by ARN and UUID."""

from hashrange.functions.names import parse_arn

_SHARED_ACCOUNT = "000000000000"
"""The account of clients whose access key is no account; it is not named."""


def name_function(function_arn: str) -> str:
    """The name of a function."""
    reference = parse_arn(function_arn)
    return function_arn if reference is None else reference.key.name


def name_table(stream_arn: str) -> str:
    """The name of a stream's table, with its Region, such as `orders (eu-west-1)`,
    and its account if it is not the usual one.
    """
    region, account, resource = stream_arn.split(":", 5)[3:]
    where = region if account == _SHARED_ACCOUNT else f"{region}, account {account}"
    return f"{resource.split('/')[1]} ({where})"
