"""ListMetrics: which metrics have had datapoints in the last two weeks? 500 in a page."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from hashrange.aws_services.operation import FORM, Caller, Operation
from hashrange.aws_services.paging import part_from
from hashrange.cloudwatch import limits
from hashrange.cloudwatch.api.checks import DimensionMember, check_length, place_in, refuse_value
from hashrange.cloudwatch.metric_id import MetricId
from hashrange.cloudwatch.metrics import Metrics
from hashrange.items.steps import walk
from hashrange.messages import cloudwatch as sentences

RECENT_SECONDS = 3 * 3600.0


class ListMetricsRequest(msgspec.Struct, frozen=True):
    """Request of ListMetrics; all members are filters."""

    Namespace: str | None = None
    MetricName: str | None = None
    Dimensions: list[DimensionMember] | None = None
    NextToken: str | None = None
    RecentlyActive: str | None = None
    IncludeLinkedAccounts: bool | None = None
    OwningAccount: str | None = None


async def list_metrics(metrics: Metrics, caller: Caller, request: ListMetricsRequest) -> Mapping[str, Any]:
    """Returns a page of metrics, in order of their names and dimensions; may give way."""
    for path in ("Namespace", "MetricName", "OwningAccount"):
        if (text := getattr(request, path)) is not None:
            check_length(path, text, limits.METRIC_NAME_LENGTH_MAX)
    wanted = request.Dimensions or []
    if len(wanted) > limits.METRIC_DIMENSIONS_FILTERED_MAX:
        refuse_value(sentences.TOO_MANY.format(path="Dimensions", most=limits.METRIC_DIMENSIONS_FILTERED_MAX))
    for place, one in enumerate(wanted, 1):
        check_length(f"Dimensions.member.{place}.Name", one.Name, limits.METRIC_DIMENSION_NAME_LENGTH_MAX)
        if one.Value is not None:
            check_length(f"Dimensions.member.{place}.Value", one.Value, limits.METRIC_DIMENSION_VALUE_LENGTH_MAX)
    if request.RecentlyActive not in (None, "PT3H"):
        refuse_value(sentences.RECENTLY_ACTIVE)
    begin = place_in(request.NextToken)
    filters = [(one.Name, one.Value) for one in wanted]
    past_seconds = limits.METRIC_FOUND_SECONDS if request.RecentlyActive is None else RECENT_SECONDS
    found = metrics.find(*caller, request.Namespace, request.MetricName, filters, past_seconds)
    if request.OwningAccount not in (None, caller.account):
        found = []
    page, token = part_from(found, begin, _page_size(found[begin : begin + limits.METRICS_LISTED_MAX]))
    return {
        "Metrics": [
            {
                "Namespace": metric.namespace,
                "MetricName": metric.name,
                "Dimensions": [{"Name": name, "Value": value} for name, value in metric.dimensions],
            }
            for metric in page
        ],
        "OwningAccounts": [caller.account] * len(page) if request.IncludeLinkedAccounts else None,
        "NextToken": token,
    }


def _page_size(metrics: Sequence[MetricId]) -> int:
    """How many of the metrics a page has room for; may give way."""
    size_bytes = 0
    for place, metric in enumerate(walk(metrics)):
        size_bytes += metric.names_bytes
        if place and size_bytes > limits.METRICS_LISTED_BYTES_MAX:
            return place
    return len(metrics)


OPERATION = Operation("ListMetrics", ListMetricsRequest, list_metrics, FORM)
