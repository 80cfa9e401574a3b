"""Who executes actions of alarms? Scaling policies, functions, topics of the SNS that a setting names, and URLs."""

import uuid
from functools import partial

import msgspec

from hashrange.autoscaling.auto_scaling import AutoScaling
from hashrange.autoscaling.policy_actions import PolicyActions
from hashrange.aws_services.operation import Caller
from hashrange.cloudwatch.alarms.alarms import AlarmAction, Alarms
from hashrange.cloudwatch.alarms.deliveries import SnsEndpoint, deliver_to_url
from hashrange.cloudwatch.alarms.notification import lambda_event
from hashrange.functions.api.operation import LambdaError
from hashrange.functions.functions import Functions
from hashrange.functions.http_client import UrlUnusable
from hashrange.messages.alarms import NO_FUNCTIONS, NO_SNS
from hashrange.settings import Settings, SettingUnusable

SCALING_ACTIONS = "arn:aws:autoscaling:"
FUNCTION_ACTIONS = "arn:aws:lambda:"
TOPIC_ACTIONS = "arn:aws:sns:"


def follow_actions(alarms: Alarms, scaling: AutoScaling, functions: Functions | None, settings: Settings) -> None:
    """Let these alarms have their actions executed. Raises SettingUnusable."""
    alarms.has_regions = not settings.shared_db
    alarms.on_action(SCALING_ACTIONS, PolicyActions(scaling).deliver, is_scaling=True)
    alarms.on_action(FUNCTION_ACTIONS, partial(_invoke, functions))
    alarms.on_action("http", deliver_to_url)
    if settings.sns_endpoint is None:
        alarms.on_action(TOPIC_ACTIONS, _no_topic)
        return
    try:
        endpoint = SnsEndpoint(settings.sns_endpoint)
    except UrlUnusable as error:
        raise SettingUnusable(f"--sns-endpoint: {error}") from error
    alarms.on_action(TOPIC_ACTIONS, endpoint.publish)


async def _no_topic(told: AlarmAction) -> str | None:
    return NO_SNS


async def _invoke(functions: Functions | None, told: AlarmAction) -> str | None:
    """Queue an invocation of the function that the action is. Returns None, or what went wrong."""
    if functions is None:
        return NO_FUNCTIONS
    caller = Caller(told.alarm.account, told.alarm.region)
    try:
        description = functions.find(told.action, caller)
        functions.require_invocable(description)
        await functions.events.put(description.key, msgspec.json.encode(lambda_event(told)), str(uuid.uuid4()), None)
    except LambdaError as error:
        return error.message
    return None
