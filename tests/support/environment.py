"""Which variables of whoever runs the tests must not reach them, nor the servers that they start? Those that such a server or its clients read."""

from collections.abc import MutableMapping

from hashrange.cli.settings_sources import CONFIG_VARIABLE
from hashrange.settings import options

OPTION_VARIABLES = frozenset({CONFIG_VARIABLE, *(option.variable for option in options())})
"""A new option is one of them at once."""
CLIENTS_PREFIX = "AWS_"


def hide_what_is_outside(environment: MutableMapping[str, str]) -> None:
    """Remove Hashrange's options and everything of AWS, a profile or a Region; and ask no machine for its role."""
    for variable in list(environment):
        if variable in OPTION_VARIABLES or variable.startswith(CLIENTS_PREFIX):
            del environment[variable]
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
