"""What are DAX's clusters to a service? A feature: records, the job that ends what is under way in them and lets nodes
run as the records say, and their API.
"""

from typing import TYPE_CHECKING

from hashrange.aws_services.operation import ServiceApi
from hashrange.features.features import Feature, FeatureApi, FeatureJob, Features

if TYPE_CHECKING:
    from hashrange.dax.clusters import Clusters

JOB = "dax-clusters"


def _clusters(features: Features) -> "Clusters":
    # Imported here: most servers have no clusters, and start time counts.
    from hashrange.dax.clusters import Clusters  # noqa: PLC0415

    return Clusters(
        features.store.documents,
        features.clock,
        features.settings.table_state_delay_seconds,
        features.settings.dax_memory_bytes,
        features.waker(JOB),
        lambda: features.given_to(DAX),
    )


def _api(clusters: "Clusters", features: Features) -> ServiceApi:
    from hashrange.dax.api.registry import dax_api  # noqa: PLC0415 - as above

    return dax_api(clusters)


def _forget(clusters: "Clusters") -> None:
    """Let nodes forget the former content."""
    if clusters.running_host is not None:
        clusters.running_host.forget()


DAX: "Feature[Clusters]" = Feature(
    "dax",
    _clusters,
    prefixes=("dax-cluster/",),
    code=("hashrange.dax.api.registry", "hashrange.dax.clusters"),
    jobs=(FeatureJob(JOB, lambda clusters, _: clusters.settle),),
    apis={"dax": FeatureApi("AmazonDAXV3", _api)},
    see_content=_forget,
)
"""The server gives it the function that makes what runs the nodes (`Features.give`)."""
