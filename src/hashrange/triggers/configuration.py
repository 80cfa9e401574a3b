"""Which functions, event source mappings and destinations does a server have from its start?
Those of the TOML file that `--triggers` names.

    [functions.confirm]                  # functions/declaration.py
    code = "./handlers"
    handler = "orders.confirm"

    [[mapping]]
    table = "orders"                     # the mapping follows whichever stream of this table is on
    function = "confirm"
    batch_size = 10                      # and the other members below
    filters = ['{"eventName": ["INSERT"]}']
    on_failure = "arn:aws:sqs:us-east-1:000000000000:failed"

    [destinations]                       # destinations.py
    "arn:aws:sqs:us-east-1:000000000000:failed" = { file = "./failed.jsonl" }

Members of a mapping have the names of CreateEventSourceMapping in the style of TOML.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from hashrange.functions.api.operation import LambdaError
from hashrange.functions.declaration import FunctionDeclaration, read_functions
from hashrange.messages.event_source_mappings import UNKNOWN_DESTINATION
from hashrange.messages.functions_api import cut
from hashrange.settings import SettingUnusable
from hashrange.triggers.api import requests
from hashrange.triggers.api.settings import require_agreement, settings_of
from hashrange.triggers.destinations import Destination, read_destinations
from hashrange.triggers.filter_operators import InvalidPattern
from hashrange.triggers.filter_patterns import compile_filters
from hashrange.triggers.mapping import StartingPosition
from hashrange.written.values import ACCOUNT_IN_WORDS, TomlFault, fault_in, place_of_json_fault, read_toml

MAPPINGS_MAX = 1000


class ConfigurationError(SettingUnusable):
    """The file of triggers cannot be used; the message names the file, the place and the reason."""


class DeclaredMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A mapping of the file: it exists for every table of this name whose stream is on."""

    table: Annotated[str, Meta(min_length=3, max_length=255)]
    function: Annotated[str, Meta(min_length=1, max_length=64)]
    """Name of a function in the table's account and Region, or of a declared one."""
    account: Annotated[str, Meta(pattern="^[0-9]{12}$", description=ACCOUNT_IN_WORDS)] | None = None
    """None: tables of every account."""
    region: str | None = None
    """None: tables of every Region."""
    enabled: bool = True
    batch_size: requests.BatchRecords = 100
    starting_position: StartingPosition = "TRIM_HORIZON"
    """LATEST begins when the mapping is made: at the server's start, or some milliseconds after the stream began."""
    filters: list[str] = []
    maximum_batching_window_in_seconds: requests.BatchingWindowSeconds = 0
    parallelization_factor: requests.BatchesOfShard = 1
    maximum_record_age_in_seconds: requests.RecordAgeSeconds = -1
    maximum_retry_attempts: requests.RetryAttempts = -1
    bisect_batch_on_function_error: bool = False
    tumbling_window_in_seconds: requests.TumblingWindowSeconds = 0
    report_batch_item_failures: bool = False
    on_failure: str | None = None
    """ARN of the destination for discarded batches."""

    def settings(self) -> dict[str, Any]:
        """The members that a stored mapping gets from this declaration.
        Raises LambdaError for settings that the API would refuse.
        """
        request = requests.CreateEventSourceMappingRequest(
            FunctionName=self.function,
            Enabled=self.enabled,
            BatchSize=self.batch_size,
            FilterCriteria=requests.FilterCriteriaMembers(
                Filters=[requests.FilterMembers(Pattern=one) for one in self.filters]
            ),
            MaximumBatchingWindowInSeconds=self.maximum_batching_window_in_seconds,
            ParallelizationFactor=self.parallelization_factor,
            MaximumRecordAgeInSeconds=self.maximum_record_age_in_seconds,
            MaximumRetryAttempts=self.maximum_retry_attempts,
            BisectBatchOnFunctionError=self.bisect_batch_on_function_error,
            TumblingWindowInSeconds=self.tumbling_window_in_seconds,
            FunctionResponseTypes=["ReportBatchItemFailures"] if self.report_batch_item_failures else [],
            DestinationConfig=requests.DestinationConfigMembers(
                OnFailure=requests.DestinationMembers(Destination=self.on_failure or "")
            ),
        )
        require_agreement(self.parallelization_factor, self.tumbling_window_in_seconds)
        return settings_of(request)


class Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """What the file declares."""

    functions: Mapping[str, FunctionDeclaration] = {}
    mappings: tuple[DeclaredMapping, ...] = ()
    destinations: Mapping[str, Destination] = {}


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    functions: dict[str, dict[str, Any]] = {}
    mapping: Annotated[list[dict[str, Any]], Meta(max_length=MAPPINGS_MAX)] = []
    destinations: dict[str, Any] = {}


def read_configuration(path: str) -> Configuration:
    """Read the file. Raises ConfigurationError."""
    try:
        with open(path, "rb") as file:
            read = _read_file(read_toml(file.read()))
        destinations = read_destinations(read.destinations)
        mappings: list[DeclaredMapping] = []
        for table in read.mapping:
            mappings.append(_read_mapping(table, mappings, destinations))
        return Configuration(
            functions=read_functions(read.functions), mappings=tuple(mappings), destinations=destinations
        )
    except OSError as error:
        raise ConfigurationError(f"the file of triggers {path} cannot be read: {error.strerror or error}.") from None
    except (SettingUnusable, TomlFault) as error:
        raise ConfigurationError(f"the file of triggers {path} cannot be used: {error}") from None
    except RecursionError:
        raise ConfigurationError(f"the file of triggers {path} cannot be used: it is nested too deeply.") from None
    except ValueError as error:
        raise ConfigurationError(f"the file of triggers {path} cannot be used: {error}.") from None


def _read_file(content: dict[str, Any]) -> _File:
    """The file's parts, still as tables. Raises ConfigurationError."""
    try:
        return msgspec.convert(content, _File)
    except msgspec.ValidationError:
        raise ConfigurationError(fault_in(content, _File)) from None


def _read_mapping(
    table: dict[str, Any], before: Sequence[DeclaredMapping], destinations: Collection[str]
) -> DeclaredMapping:
    """Read one table, which follows those `before`. Raises ConfigurationError, which names the table by its number."""
    number = len(before) + 1
    try:
        mapping = msgspec.convert(table, DeclaredMapping)
        for place, pattern in enumerate(mapping.filters):
            _check_filter(f"mapping {number}: filter {place + 1}", pattern)
        mapping.settings()
    except msgspec.ValidationError:
        raise ConfigurationError(f"mapping {number}: {fault_in(table, DeclaredMapping)}") from None
    except LambdaError as error:
        raise ConfigurationError(f"mapping {number}: {error.message}") from None
    if mapping in before:
        raise ConfigurationError(f"mapping {number} is the same as mapping {before.index(mapping) + 1}: remove one.")
    if mapping.on_failure is not None and mapping.on_failure not in destinations:
        raise ConfigurationError(f"mapping {number}: {UNKNOWN_DESTINATION.format(arn=cut(mapping.on_failure))}.")
    return mapping


def _check_filter(place: str, pattern: str) -> None:
    """Raise ConfigurationError for a filter that is no pattern, with a reason if it is no JSON."""
    try:
        compile_filters([pattern])
    except InvalidPattern as error:
        reason = ""
        try:
            msgspec.json.decode(pattern)
        except (ValueError, RecursionError):
            reason = f" It is no JSON{place_of_json_fault(pattern)}."
        raise ConfigurationError(f"{place}: {error.message}{reason} It is {pattern[:200]}") from None
