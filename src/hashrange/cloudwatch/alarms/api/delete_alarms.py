"""DeleteAlarms: deletes alarms by their names; names without an alarm are passed over."""

import msgspec

from hashrange.aws_services.operation import Caller, FormWire, Operation, ServiceError
from hashrange.cloudwatch.alarms.alarms import Alarms
from hashrange.cloudwatch.alarms.api.checks import check_alarm_count, refuse_alarm, word_alarm_fault
from hashrange.cloudwatch.alarms.api.members import check_alarm_name
from hashrange.cloudwatch.limits import ALARMS_DELETED_MAX
from hashrange.items.steps import walk
from hashrange.messages import alarms as sentences


class DeleteAlarmsRequest(msgspec.Struct, frozen=True):
    """Request of DeleteAlarms."""

    AlarmNames: list[str]


async def delete_alarms(alarms: Alarms, caller: Caller, request: DeleteAlarmsRequest) -> None:
    """Deletes the alarms, all or none. Raises ServiceError and StorageError."""
    names = request.AlarmNames
    check_alarm_count("AlarmNames", names, ALARMS_DELETED_MAX)
    for place, name in enumerate(names, 1):
        check_alarm_name(name, f"AlarmNames.{place}")
    every = alarms.of(caller.account, caller.region)
    composites = [alarm for alarm in walk(every) if alarm.definition.is_composite]
    if len({alarm.name for alarm in composites} & set(names)) > 1:
        refuse_alarm(sentences.COMPOSITES_DELETED)
    if len(names) == 1 and all(alarm.name != names[0] for alarm in every):
        raise ServiceError("ResourceNotFound", sentences.NO_SUCH_ALARM.format(name=names[0]))
    needed: set[str] = set()
    for parent in composites:
        if parent.name not in names:
            needed.update(alarms.rules.watched_by(parent))
    if watched := [name for name in dict.fromkeys(names) if name in needed]:
        them = "it" if len(watched) == 1 else "them"
        refuse_alarm(sentences.STILL_WATCHED.format(names=",".join(watched), them=them))
    await alarms.delete(caller.account, caller.region, names)


OPERATION = Operation("DeleteAlarms", DeleteAlarmsRequest, delete_alarms, FormWire(word=word_alarm_fault))
