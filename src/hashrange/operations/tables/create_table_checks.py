"""May this table be created? The checks of CreateTable that need only the request, in the service's order;
UpdateTable shares those of global indexes, stream, encryption and members that are not served.

Order: billing mode of a table with vector indexes → billing and throughput → attribute definitions against table keys →
key schema → global indexes → local indexes → vector indexes → repeated index names → limits of vector indexes → unused
definitions → numbers of indexes and of projected attributes → stream, encryption, tags.
Member constraints are already checked, except the pattern of index names, which is checked first. Each check takes
indexes and tags in the order of the request. Source: service behaviour, captures to October 2026.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from hashrange import limits
from hashrange.errors import Malformed, ValidationException
from hashrange.items.hash_order import in_hash_order, text_hash
from hashrange.items.steps import walk
from hashrange.messages import tables as say
from hashrange.messages.vector_indexes import TOO_MANY_VECTOR_INDEXES
from hashrange.operations.shapes import NAME_PATTERN
from hashrange.operations.tables.index_members import GlobalSecondaryIndex, LocalSecondaryIndex, NewVectorIndex
from hashrange.operations.tables.members import (
    AttributeDefinition,
    KeySchemaElement,
    Projection,
    SSESpecification,
    StreamSpecification,
)
from hashrange.operations.tables.requests import CreateTableRequest, UpdateTableRequest
from hashrange.operations.tables.tags import read_tags
from hashrange.operations.tables.throughput_checks import check_creation_throughput
from hashrange.operations.tables.vector_index_checks import (
    check_dimensions,
    check_projected_names,
    check_search_schema,
    check_vector_limits,
    check_vectors_together,
    require_on_demand,
)

_KEY_BUCKETS = 16
"""How many buckets the service's set of key attributes begins with; that of definitions begins with their number."""
_INDEX_NAME = re.compile(NAME_PATTERN).fullmatch

KeyedIndex = LocalSecondaryIndex | GlobalSecondaryIndex
AnyIndex = KeyedIndex | NewVectorIndex
Defined = Mapping[str, object]
"""Names of the defined attributes, in the order of the request; the values mean nothing."""


def check_creation(request: CreateTableRequest) -> None:
    """Raise ValidationException for the request's first fault; Malformed for an impossible index name."""
    check_index_names(index.IndexName for index in walk(request.GlobalSecondaryIndexes or ()))
    check_index_names(index.IndexName for index in walk(request.LocalSecondaryIndexes or ()))
    check_index_names(index.IndexName for index in walk(request.VectorIndexes or ()))
    vector_indexes = request.VectorIndexes
    if vector_indexes is not None:
        if not vector_indexes:
            raise ValidationException(say.INDEX_LIST_EMPTY.format(kind="VectorIndexes"))
        require_on_demand(request.BillingMode)
    check_creation_throughput(request)
    defined = _defined(request.AttributeDefinitions)
    global_indexes = request.GlobalSecondaryIndexes
    local_indexes = request.LocalSecondaryIndexes
    has_indexes = any(one is not None for one in (global_indexes, local_indexes, vector_indexes))
    _check_definitions(request.KeySchema, defined, has_indexes)
    _check_table_keys(request.KeySchema)
    if global_indexes is not None:
        _check_global(global_indexes, defined)
    if local_indexes is not None:
        _check_local(local_indexes, request.KeySchema, defined)
    if vector_indexes is not None:
        _check_vectors(vector_indexes, defined)
    _check_duplicates([*(global_indexes or ()), *(local_indexes or ()), *(vector_indexes or ())])
    if vector_indexes is not None:
        _check_vector_limits(vector_indexes)
        check_vectors_together(vector_indexes, defined)
    keyed: list[KeyedIndex] = [*(global_indexes or ()), *(local_indexes or ())]
    searched = [element.AttributeName for one in vector_indexes or () for element in walk(one.SearchSchema or ())]
    _check_unused(request.KeySchema, keyed, searched, defined)
    _check_limits(keyed, len(local_indexes or ()))
    check_stream(request.StreamSpecification, say.STREAM_DISABLED_WITH_VIEW, say.STREAM_WITHOUT_VIEW)
    check_encryption(request.SSESpecification)
    read_tags(request.Tags or ())


def check_index_names(names: Iterable[str]) -> None:
    """Raise Malformed for an index name that does not match the pattern, which the fast decoder does not check."""
    for name in names:
        if not _INDEX_NAME(name):
            raise Malformed


def _names(keys: Iterable[KeySchemaElement]) -> list[str]:
    return [key.AttributeName for key in keys]


def _defined(definitions: Sequence[AttributeDefinition]) -> Defined:
    """Names of the defined attributes; raises ValidationException for an attribute that is defined twice."""
    defined: dict[str, object] = {}
    for definition in walk(definitions):
        if definition.AttributeName in defined:
            raise ValidationException(say.ATTRIBUTE_DEFINED_TWICE.format(name=definition.AttributeName))
        defined[definition.AttributeName] = None
    return defined


def _check_definitions(keys: Sequence[KeySchemaElement], defined: Defined, has_indexes: bool) -> None:
    """Refuse table keys that are undefined or equal, and, if there are no indexes, definitions that no key uses."""
    if len(keys) > 1 and len(defined.keys() & set(_names(keys))) < len(keys):
        raise ValidationException(say.KEY_WITHOUT_DEFINITION)
    check_index_definitions(keys, defined)
    if not has_indexes and len(defined) > len(keys):
        raise ValidationException(say.DEFINITIONS_MISMATCH)


def _check_table_keys(keys: Sequence[KeySchemaElement]) -> None:
    """Require that the keys of a table or local index are HASH, or HASH and then RANGE with another name."""
    if keys[0].KeyType != "HASH":
        raise ValidationException(say.FIRST_KEY_NOT_HASH)
    if len(keys) == 1:
        return
    if keys[1].KeyType != "RANGE":
        raise ValidationException(say.SECOND_KEY_NOT_RANGE)
    if keys[0].AttributeName == keys[1].AttributeName:
        raise ValidationException(say.SAME_KEY_TWICE)


def check_global_keys(keys: Sequence[KeySchemaElement]) -> None:
    """Require one to four HASH elements, then up to four RANGE elements, with different names."""
    kinds = [key.KeyType for key in keys]
    if kinds[0] != "HASH":
        raise ValidationException(say.FIRST_KEY_NOT_HASH)
    hash_count = kinds.count("HASH")
    if "HASH" in kinds[hash_count:]:
        raise ValidationException(say.INDEX_KEY_ORDER)
    if hash_count > limits.INDEX_KEY_ELEMENTS_MAX or len(kinds) - hash_count > limits.INDEX_KEY_ELEMENTS_MAX:
        kind = "HASH" if hash_count > limits.INDEX_KEY_ELEMENTS_MAX else "RANGE"
        raise ValidationException(say.INDEX_KEY_COUNT.format(kind=kind))
    names = _names(keys)
    if len(set(names)) < len(names):
        raise ValidationException(say.SAME_KEY_TWICE if len(names) == 2 else say.INDEX_KEY_TWICE)


def check_index_definitions(keys: Sequence[KeySchemaElement], defined: Defined) -> None:
    """Refuse an index key without an attribute definition."""
    names = _names(keys)
    if any(name not in defined for name in names):
        raise ValidationException(say.KEYS_NOT_DEFINED.format(keys=", ".join(names), definitions=", ".join(defined)))


def check_projection(projection: Projection) -> None:
    """Require a projection type; require NonKeyAttributes for INCLUDE, and refuse them for other types."""
    kind = projection.ProjectionType
    if kind is None:
        raise ValidationException(say.PROJECTION_MISSING)
    if kind == "INCLUDE" and projection.NonKeyAttributes is None:
        raise ValidationException(say.PROJECTION_WITHOUT_ATTRIBUTES)
    if kind != "INCLUDE" and projection.NonKeyAttributes is not None:
        raise ValidationException(say.PROJECTION_WITH_ATTRIBUTES.format(kind=kind))


def _check_global(indexes: Sequence[GlobalSecondaryIndex], defined: Defined) -> None:
    if not indexes:
        raise ValidationException(say.INDEX_LIST_EMPTY.format(kind="GlobalSecondaryIndexes"))
    for index in walk(indexes):
        check_index_definitions(index.KeySchema, defined)
        check_global_keys(index.KeySchema)
        check_projection(index.Projection)


def _check_local(
    indexes: Sequence[LocalSecondaryIndex], table_keys: Sequence[KeySchemaElement], defined: Defined
) -> None:
    if not indexes:
        raise ValidationException(say.INDEX_LIST_EMPTY.format(kind="LocalSecondaryIndexes"))
    if len(table_keys) == 1:
        raise ValidationException(say.LOCAL_INDEX_NEEDS_TABLE_RANGE)
    table_key = table_keys[0].AttributeName
    for index in walk(indexes):
        keys = index.KeySchema
        check_index_definitions(keys, defined)
        _check_table_keys(keys)
        if len(keys) == 1:
            raise ValidationException(say.LOCAL_INDEX_WITHOUT_RANGE.format(index=index.IndexName))
        index_key = keys[0].AttributeName
        if index_key != table_key:
            raise ValidationException(
                say.LOCAL_INDEX_OTHER_HASH.format(index=index.IndexName, index_key=index_key, table_key=table_key)
            )
        check_projection(index.Projection)


def _check_vectors(indexes: Sequence[NewVectorIndex], defined: Defined) -> None:
    for index in walk(indexes):
        check_dimensions(index)
        check_projection(index.Projection)
        check_projected_names(index)
        check_search_schema(index, defined)


def _check_vector_limits(indexes: Sequence[NewVectorIndex]) -> None:
    if len(indexes) > limits.VECTOR_INDEXES_MAX:
        raise ValidationException(TOO_MANY_VECTOR_INDEXES.format(limit=limits.VECTOR_INDEXES_MAX))
    for index in indexes:
        check_vector_limits(index)


def _check_duplicates(indexes: Collection[AnyIndex]) -> None:
    seen: set[str] = set()
    for index in walk(indexes):
        if index.IndexName in seen:
            raise ValidationException(say.DUPLICATE_INDEX.format(index=index.IndexName))
        seen.add(index.IndexName)


def _check_unused(
    keys: Sequence[KeySchemaElement],
    indexes: Collection[KeyedIndex],
    searched: Collection[str],
    defined: Defined,
) -> None:
    """Refuse attribute definitions that no key and no search schema uses. `searched`: names in search schemas."""
    used: dict[str, None] = dict.fromkeys(_names(keys))
    for index in walk(indexes):
        used.update(dict.fromkeys(_names(index.KeySchema)))
    used.update(dict.fromkeys(searched))
    if any(name not in used for name in walk(defined)):
        definitions = _as_hash_set(defined, 1 << (len(defined) - 1).bit_length())
        raise ValidationException(
            say.DEFINITIONS_NOT_USED.format(
                definitions=", ".join(definitions), keys=", ".join(_as_hash_set(used, _KEY_BUCKETS))
            )
        )


def _as_hash_set(names: Iterable[str], buckets: int) -> list[str]:
    """The names in the order in which the service's message lists them."""
    return in_hash_order({name: text_hash(name) for name in names}, buckets)


def _check_limits(indexes: Sequence[KeyedIndex], local_count: int) -> None:
    if len(indexes) - local_count > limits.GLOBAL_INDEXES_MAX:
        raise ValidationException(say.TOO_MANY_GLOBAL_INDEXES.format(limit=limits.GLOBAL_INDEXES_MAX))
    if local_count > limits.LOCAL_INDEXES_MAX:
        raise ValidationException(say.TOO_MANY_LOCAL_INDEXES.format(limit=limits.LOCAL_INDEXES_MAX))
    projected = sum(len(index.Projection.NonKeyAttributes or ()) for index in indexes)
    if projected > limits.PROJECTED_ATTRIBUTES_MAX:
        raise ValidationException(say.TOO_MANY_PROJECTED.format(limit=limits.PROJECTED_ATTRIBUTES_MAX))


# --- checks of CreateTable and UpdateTable --------------------------------------------------------


_REPLICATION_OFF = "DISABLED"
"""GlobalTableSettingsReplicationMode of a table without replicas."""


def check_stream(stream: StreamSpecification | None, off_with_view: str, on_without_view: str) -> None:
    """Require a view type if StreamEnabled is true, refuse one if it is false; the texts are the messages."""
    if stream is None:
        return
    if not stream.StreamEnabled and stream.StreamViewType is not None:
        raise ValidationException(off_with_view)
    if stream.StreamEnabled and stream.StreamViewType is None:
        raise ValidationException(on_without_view)


def check_encryption(encryption: SSESpecification | None) -> None:
    """Refuse SSEType AES256, a type or key if Enabled is false, and a key without a type."""
    if encryption is None:
        return
    if encryption.SSEType == "AES256":
        raise ValidationException(say.SSE_AES256)
    if encryption.Enabled is not False:
        if encryption.KMSMasterKeyId is not None and encryption.SSEType is None:
            raise ValidationException(say.SSE_KEY_WITHOUT_TYPE)
        return
    for member, value in (("SSEType", encryption.SSEType), ("KMSMasterKeyId", encryption.KMSMasterKeyId)):
        if value is not None:
            raise ValidationException(say.SSE_DISABLED_WITH.format(member=member))


def refuse_unimplemented_members(request: CreateTableRequest | UpdateTableRequest, *names: str) -> None:
    """Raise ValidationException for the first of these members that is not null, false or DISABLED."""
    for name in names:
        value = getattr(request, name)
        if value is not None and value is not False and value != _REPLICATION_OFF:
            raise ValidationException(say.NOT_SUPPORTED_YET.format(member=name))
