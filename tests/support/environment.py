"""Which environment variables must be hidden from tests and from the servers that they start? Hashrange's options, and AWS variables."""

from collections.abc import MutableMapping

from hashrange.cli.settings_sources import CONFIG_VARIABLE
from hashrange.settings import options

OPTION_VARIABLES = frozenset({CONFIG_VARIABLE, *(option.variable for option in options())})
"""Environment variables of all options; a new option is included automatically."""
CLIENTS_PREFIX = "AWS_"


def hide_what_is_outside(environment: MutableMapping[str, str]) -> None:
    """Remove Hashrange's options and all AWS variables; stop AWS SDKs from using the machine's metadata service."""
    for variable in list(environment):
        if variable in OPTION_VARIABLES or variable.startswith(CLIENTS_PREFIX):
            del environment[variable]
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
