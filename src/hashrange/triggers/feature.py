"""What follows the changes of a service's tables? Two features, if the settings ask for them: triggers, which bring
stream records to functions, and the delivery to Kinesis.
"""

import logging
from functools import partial
from typing import TYPE_CHECKING

from hashrange.features.features import Feature, FeatureJob, Features
from hashrange.functions.feature import FUNCTIONS, has_functions
from hashrange.messages.kinesis import LOG_NO_ENDPOINT
from hashrange.operations.naming import bare_name
from hashrange.store.interface import WholeStore

if TYPE_CHECKING:
    from hashrange.triggers.batches import Batch
    from hashrange.triggers.configuration import Configuration
    from hashrange.triggers.kinesis.delivery import KinesisDelivery
    from hashrange.triggers.mapping import EventSourceMapping

DECLARED_JOB, TRIGGERS_JOB, KINESIS_JOB = "declared mappings", "triggers", "delivery to Kinesis"

_log = logging.getLogger("hashrange.triggers")
_kinesis_log = logging.getLogger("hashrange.kinesis")


# --- triggers -----------------------------------------------------------------------------------------


class TriggersAndDeclared:
    """The triggers, and the job that makes the mappings of the settings."""

    def __init__(self, features: Features) -> None:
        """Read the file of triggers, and declare its functions and mappings. Raises SettingUnusable."""
        # Imported here: most servers have no functions, and start time counts.
        from hashrange.triggers.configuration import Configuration, read_configuration  # noqa: PLC0415
        from hashrange.triggers.declared_mappings import DeclaredMappings  # noqa: PLC0415
        from hashrange.triggers.triggers import Triggers  # noqa: PLC0415

        settings, store = features.settings, features.store
        configuration = Configuration() if settings.triggers is None else read_configuration(settings.triggers)
        _declare_functions(features, configuration)
        self.triggers = Triggers(
            store,
            features.clock,
            features.part(FUNCTIONS),
            configuration.destinations,
            settings.table_state_delay_seconds,
            partial(_disturb, features),
            features.waker(TRIGGERS_JOB),
            features.runner.is_in_order,
        )
        self.declared = DeclaredMappings(configuration.mappings, self.triggers.mappings, store.catalog, store.streams)


def _declare_functions(features: Features, configuration: "Configuration") -> None:
    """Declare the functions of a file of triggers. Raises ConfigurationError."""
    from hashrange.triggers.configuration import ConfigurationError  # noqa: PLC0415 - as above

    settings, functions = features.settings, features.part(FUNCTIONS)
    for name, declaration in configuration.functions.items():
        if declaration.code is not None and not settings.functions:
            raise ConfigurationError(
                f"the file of triggers {settings.triggers} cannot be used: the function {name} has code, which"
                " runs only if --functions is given too."
            )
        functions.declare(name, declaration)
    _warn_of_missing_functions(features.store, configuration)


def _warn_of_missing_functions(store: WholeStore, configuration: "Configuration") -> None:
    """Log which functions of mappings are neither declared nor stored in any account: they may yet be created."""
    from hashrange.functions.description import FUNCTION_PREFIX  # noqa: PLC0415 - as above

    stored = {name.rpartition("/")[2] for name, _ in store.documents.below(FUNCTION_PREFIX)}
    known = {*configuration.functions, *stored}
    for number, mapping in enumerate(configuration.mappings, 1):
        if mapping.function not in known:
            names = ", ".join(sorted(known)) or "none"
            _log.warning("mapping %d: there is no function %s yet; functions: %s", number, mapping.function, names)


def _disturb(features: Features, mapping: "EventSourceMapping", batch: "Batch") -> None:
    """Draw the faults that a batch of stream records meets on its way to a function when it is begun: it is late,
    comes twice, or is small (docs/testing/faults.md).
    """
    drawing = features.requests.drawing
    for fault in () if drawing is None else drawing.on_delivery(bare_name(mapping.stream_arn)):
        match fault.kind:
            case "repeated-records":
                batch.repeats += 1
            case "late-records":
                batch.due_seconds = max(batch.due_seconds, batch.opened_seconds + (fault.seconds or 0.0))
            case "small-batches":
                batch.records_max = min(batch.records_max, fault.records or 1)


TRIGGERS = Feature(
    "triggers",
    TriggersAndDeclared,
    is_loaded_at_start=has_functions,
    jobs=(
        FeatureJob(DECLARED_JOB, lambda part, _: part.declared.run_slice),
        FeatureJob(TRIGGERS_JOB, lambda part, _: part.triggers.job.run_slice),
    ),
    follow=lambda part: part.triggers.job.wake,
    stop=lambda part: part.triggers.job.stop(),
)


# --- Kinesis ------------------------------------------------------------------------------------------


def _kinesis(features: Features) -> "KinesisDelivery":
    """Raises SettingUnusable."""
    # Imported here: most servers send nothing to Kinesis, and start time counts.
    from hashrange.functions.http_client import read_setting  # noqa: PLC0415
    from hashrange.triggers.kinesis.delivery import KinesisDelivery  # noqa: PLC0415

    endpoint = features.settings.kinesis_endpoint
    assert endpoint is not None, "the feature is loaded only if the settings have an endpoint"
    read_setting("--kinesis-endpoint", endpoint)
    return KinesisDelivery(features.store, features.clock, endpoint, features.waker(KINESIS_JOB))


def _warn_without_endpoint(features: Features) -> None:
    """Log whose changes are not sent because the settings name no endpoint."""
    if features.settings.kinesis_endpoint is None:
        for feed in features.store.streams.feeds():
            if feed.is_on:
                _kinesis_log.warning(LOG_NO_ENDPOINT, feed.table_name)


KINESIS: "Feature[KinesisDelivery]" = Feature(
    "kinesis",
    _kinesis,
    is_loaded_at_start=lambda settings: settings.kinesis_endpoint is not None,
    jobs=(FeatureJob(KINESIS_JOB, lambda kinesis, _: kinesis.run_slice),),
    start=_warn_without_endpoint,
    follow=lambda kinesis: kinesis.wake,
    stop=lambda kinesis: kinesis.stop(),
)
