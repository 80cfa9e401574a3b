"""Can the files, folders and URLs that settings name be used?
Asks the readers of the server itself, which change nothing.

Of an init folder only the names are looked at, and a snapshot is not read: both may be long.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from hashrange.cli.checkup.finding import Finding, failing, fine
from hashrange.cli.checkup.sdk_settings import without_user
from hashrange.cli.settings_sources import in_given_names
from hashrange.errors import HashrangeError
from hashrange.settings import Settings


def look_at_named_files(settings: Settings, given_names: Mapping[str, str]) -> Iterator[Finding]:
    """What a server with these settings would say of each, and refuse to start; nothing if they name none."""
    is_asked, is_sound = False, True
    for look in _looks(settings):
        is_asked = True
        try:
            look()
        except HashrangeError as error:
            is_sound = False
            sentence = in_given_names(str(error), given_names)
            yield failing("files", f"`hashrange serve` would refuse to start: {sentence}")
    if is_asked and is_sound:
        yield fine("files", "The files, folders and URLs that the settings name can be used.")


def _looks(settings: Settings) -> Iterator[Callable[[], object]]:
    # Imported here: the readers load much, and most settings name nothing.
    if settings.credentials is not None or settings.tls_cert is not None:
        from hashrange.server.listener import read_secrets

        yield partial(read_secrets, settings)
    if settings.init is not None:
        from hashrange.init.files import list_init_files

        yield partial(list_init_files, settings.init)
    if settings.faults is not None:
        from hashrange.faults.fault import read_faults

        yield partial(read_faults, settings.faults)
    if settings.triggers is not None:
        from hashrange.triggers.configuration import read_configuration

        yield partial(read_configuration, settings.triggers)
    yield from _looks_at_urls(settings)


def _looks_at_urls(settings: Settings) -> Iterator[Callable[[], object]]:
    from hashrange.functions.http_client import UrlUnusable, read_target

    def look(flag: str, url: str) -> None:
        try:
            read_target(url)
        except UrlUnusable as error:
            raise HashrangeError(f"{flag}: {str(error).replace(url, without_user(url))}") from None

    urls = {
        "--others": settings.others,
        "--sns-endpoint": settings.sns_endpoint,
        "--kinesis-endpoint": settings.kinesis_endpoint,
    }
    for flag, url in urls.items():
        if url is not None:
            yield partial(look, flag, url)
