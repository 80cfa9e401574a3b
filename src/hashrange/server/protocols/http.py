"""Which protocols does the HTTP listener speak? In the order in which they are asked."""

from hashrange.server.access import Access
from hashrange.server.front import Front
from hashrange.server.hints import OtherServiceHint
from hashrange.server.protocols.dynamodb_json.protocol import SIGNING_NAME, DynamoDBJson
from hashrange.server.protocols.plain import Plain
from hashrange.service.service import Service


def http_front(service: Service, access: Access) -> Front:
    """What answers the requests of the HTTP listener."""
    hint_other_service = OtherServiceHint([SIGNING_NAME])
    plain = Plain(hint_other_service)
    return Front(service, [DynamoDBJson(service.operations, access, plain, hint_other_service), plain])
