"""Which environment variables must be hidden from tests and from the servers that they start? Hashrange's options,
AWS variables, and what changes other programs' output.
"""

from collections.abc import MutableMapping

from hashrange.cli.settings_sources import CONFIG_VARIABLE
from hashrange.settings import options

OPTION_VARIABLES = frozenset({CONFIG_VARIABLE, *(option.variable for option in options())})
"""Environment variables of all options; a new option is included automatically."""
CLIENTS_PREFIX = "AWS_"
OUTPUT_VARIABLES = frozenset({"BUILD_NUMBER", "CI", "COLUMNS", "FORCE_COLOR", "NO_COLOR", "PY_COLORS"})
"""Variables by which programs that tests start choose colours, widths and lengths of their output;
with `CI`, pytest does not shorten its summary."""


def hide_what_is_outside(environment: MutableMapping[str, str]) -> None:
    """Remove Hashrange's options, all AWS variables and those of output;
    stop AWS SDKs from using the machine's metadata service.
    """
    for variable in list(environment):
        if variable in OPTION_VARIABLES | OUTPUT_VARIABLES or variable.startswith(CLIENTS_PREFIX):
            del environment[variable]
    environment["AWS_EC2_METADATA_DISABLED"] = "true"
