"""How are functions and triggers opened from settings? The file of triggers is read, its functions are
declared, its mappings become a job.
"""

import logging
from collections.abc import Callable

from hashrange.aws_services.operation import Caller
from hashrange.clock import Clock
from hashrange.functions.description import FUNCTION_PREFIX, HandlerCredentials
from hashrange.functions.functions import FunctionOptions, Functions
from hashrange.jobs.job import Follower, Job
from hashrange.service.faulted_deliveries import DrawingNow, disturb_by
from hashrange.settings import Settings
from hashrange.store.interface import WholeStore
from hashrange.triggers.configuration import Configuration, ConfigurationError, read_configuration
from hashrange.triggers.declared_mappings import DeclaredMappings
from hashrange.triggers.triggers import Triggers

_log = logging.getLogger("hashrange.triggers")

CredentialsOf = Callable[[Caller], HandlerCredentials]


class TriggerSetup:
    """Functions and triggers of one service, and the jobs that work for them."""

    def __init__(self, store: WholeStore, clock: Clock, settings: Settings, drawing_now: DrawingNow) -> None:
        """Raises SettingUnusable. `drawing_now()` draws the faults that batches meet."""
        delay_seconds = settings.table_state_delay_seconds
        configuration = Configuration() if settings.triggers is None else read_configuration(settings.triggers)
        options = FunctionOptions(
            runs_code=settings.functions, state_delay_seconds=delay_seconds, certificate_path=settings.tls_cert
        )
        self.functions = functions = Functions(store.documents, clock, options)
        for name, declaration in configuration.functions.items():
            if declaration.code is not None and not settings.functions:
                raise ConfigurationError(
                    f"the file of triggers {settings.triggers} cannot be used: the function {name} has code, which"
                    " runs only if --functions is given too."
                )
            functions.declare(name, declaration)
        _warn_of_missing_functions(store, configuration)
        self.triggers = triggers = Triggers(
            store, clock, functions, configuration.destinations, delay_seconds, disturb_by(drawing_now)
        )
        self._declared = DeclaredMappings(configuration.mappings, triggers.mappings, store.catalog, store.streams)

    @property
    def jobs(self) -> list[Job]:
        """Jobs that are woken whenever the store has new work for jobs."""
        return [self.functions.events, self._declared]

    @property
    def followers(self) -> list[Follower]:
        """Jobs that also follow stream records."""
        return [self.triggers.job]

    def reach(self, endpoint: str, credentials_of: CredentialsOf | None) -> None:
        """Let handlers find the server at its endpoint."""
        self.functions.reach(endpoint, credentials_of)

    async def start(self) -> None:
        """Try the code of declared functions, once the server can be reached."""
        await self.functions.start()

    async def close(self) -> None:
        """End all environments; called after the jobs have stopped."""
        await self.functions.close()


def _warn_of_missing_functions(store: WholeStore, configuration: Configuration) -> None:
    """Log which functions of mappings are neither declared nor stored in any account: they may yet be created."""
    stored = {name.rpartition("/")[2] for name, _ in store.documents.below(FUNCTION_PREFIX)}
    known = {*configuration.functions, *stored}
    for number, mapping in enumerate(configuration.mappings, 1):
        if mapping.function not in known:
            names = ", ".join(sorted(known)) or "none"
            _log.warning("mapping %d: there is no function %s yet; functions: %s", number, mapping.function, names)
