"""What are Lambda functions to a service? A feature, if the settings switch it on: environments, and the job that runs
asynchronous invocations. Their API has paths of its own (`server/protocols/rest_json`).
"""

from typing import TYPE_CHECKING

from hashrange.features.features import Feature, FeatureJob, Features
from hashrange.settings import Settings

if TYPE_CHECKING:
    from hashrange.functions.functions import Functions

JOB = "asynchronous invocations"


def has_functions(settings: Settings) -> bool:
    """True if these settings ask for functions: stored ones, or those of a file of triggers."""
    return settings.functions or settings.triggers is not None


def _functions(features: Features) -> "Functions":
    # Imported here: most servers have no functions, and start time counts.
    from hashrange.functions.description import FunctionOptions  # noqa: PLC0415
    from hashrange.functions.functions import Functions  # noqa: PLC0415

    settings = features.settings
    options = FunctionOptions(
        runs_code=settings.functions,
        state_delay_seconds=settings.table_state_delay_seconds,
        certificate_path=settings.tls_cert,
        serves_s3=settings.s3_folder is not None,
    )
    return Functions(
        features.store.documents, features.clock, options, features.waker(JOB), features.runner.is_in_order
    )


FUNCTIONS: "Feature[Functions]" = Feature(
    "functions",
    _functions,
    is_loaded_at_start=has_functions,
    jobs=(FeatureJob(JOB, lambda functions, _: functions.events.run_slice),),
    see_content=lambda functions: functions.see_content(),
    stop=lambda functions: functions.close(),
)
