"""Which S3 do the settings name? A folder, an endpoint, or none."""

from hashrange.messages import s3 as say
from hashrange.messages.installing import how_to_install
from hashrange.s3.objects import ObjectsOf
from hashrange.settings import Settings, SettingUnusable

_BOTH = "--s3-folder and --s3-endpoint are both given. Give one of them: exports and imports use one S3."


def missing_s3(settings: Settings) -> str | None:
    """Why there is no S3 with which exports and imports work; None if the settings name one that can be opened."""
    if settings.s3_folder is not None:
        return None
    if settings.s3_endpoint is None:
        return say.NO_S3
    # Imported here: most servers have no S3, and start time counts.
    from hashrange.s3.endpoint import is_installed  # noqa: PLC0415

    return None if is_installed() else say.NOT_INSTALLED.format(how=how_to_install("s3"))


def require_one_s3(settings: Settings) -> None:
    """Raise SettingUnusable if the settings name two, or an endpoint that is no URL."""
    if settings.s3_endpoint is None:
        return
    if settings.s3_folder is not None:
        raise SettingUnusable(_BOTH)
    if not settings.s3_endpoint.startswith(("http://", "https://")):
        raise SettingUnusable("--s3-endpoint must be a URL that begins with http:// or https://.")


def objects_of_settings(settings: Settings) -> ObjectsOf:
    """The S3 that the settings name: `missing_s3` knows none that is missing. Raises SettingUnusable for a folder that
    cannot be used.
    """
    require_one_s3(settings)
    # Imported here: most servers have no S3, and start time counts.
    if settings.s3_folder is not None:
        from hashrange.s3.folder import open_folder  # noqa: PLC0415

        return open_folder(settings.s3_folder).objects_of
    from hashrange.s3.endpoint import S3Endpoint  # noqa: PLC0415

    assert settings.s3_endpoint is not None, "an S3 that is missing"
    is_virtual = settings.s3_addressing == "virtual"
    return S3Endpoint(settings.s3_endpoint, settings.s3_region, is_virtual=is_virtual).objects_of
