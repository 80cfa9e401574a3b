"""Vector indexes in CreateTable, UpdateTable, descriptions and restores: what is stored and what is refused."""

from typing import Any

import pytest

from tests.conformance.tables import INVALID, create_request, definitions, fault, fresh_name, index, units, validation
from tests.conformance.vectors import VectorTable, search_schema, vector_index
from tests.support.raw_client import RawClient

ENVELOPE = "1 validation error detected: "
FAILED = " failed to satisfy constraint: Member must "
TWO_CHANGES = (
    "LimitExceededException",
    "Subscriber limit exceeded: Only 1 online index can be created or deleted simultaneously per table",
)


def test_an_index_is_described_as_it_was_declared(raw: RawClient) -> None:
    declared = vector_index(
        "schema",
        SearchSchema=search_schema("tenant", "kind"),
        Projection={"ProjectionType": "INCLUDE", "NonKeyAttributes": ["id", "title", "kind"]},
        DistanceFunction="DOT_PRODUCT",
    )
    table = VectorTable(raw, vector_index(), declared)
    described = table.ask("DescribeTable")["Table"]
    assert described["AttributeDefinitions"] == definitions("id", "tenant", "kind")
    plain, schema = described["VectorIndexes"]
    own = {
        "IndexStatus": "ACTIVE",
        "IndexSizeBytes": 0,
        "ItemCount": 0,
        "IndexArn": f"{described['TableArn']}/index/plain",
    }
    assert plain == vector_index() | own
    assert schema == declared | own | {"IndexArn": f"{described['TableArn']}/index/schema"}


def test_an_index_is_creating_together_with_its_table(raw: RawClient) -> None:
    request = create_request(fresh_name(), VectorIndexes=[vector_index()])
    created = raw("CreateTable", request).json()["TableDescription"]
    assert created["TableStatus"] == "CREATING"
    assert [(one["IndexStatus"], one.get("Backfilling")) for one in created["VectorIndexes"]] == [("CREATING", None)]


def test_a_table_without_vector_indexes_has_no_such_member(raw: RawClient) -> None:
    created = raw("CreateTable", create_request(fresh_name())).json()["TableDescription"]
    assert "VectorIndexes" not in created


def test_fractions_of_dimensions_are_cut_off(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index(Dimensions=6.7))
    assert table.described()["plain"]["Dimensions"] == 6


NULL_MEMBERS = {
    "IndexName": "indexName",
    "VectorAttribute": "vectorAttribute",
    "Projection": "projection",
    "Dimensions": "dimensions",
    "DistanceFunction": "distanceFunction",
}
MEMBER_FAULTS: list[tuple[dict[str, Any], str, str]] = [
    *[({name: None}, f"Value null at '{place}'", "not be null") for name, place in NULL_MEMBERS.items()],
    ({"Dimensions": 0}, "Value '0' at 'dimensions'", "have value greater than or equal to 1"),
    ({"Dimensions": 0.67}, "Value '0' at 'dimensions'", "have value greater than or equal to 1"),
    ({"IndexName": "ab"}, "Value 'ab' at 'indexName'", "have length greater than or equal to 3"),
    (
        {"IndexName": "a b c"},
        "Value 'a b c' at 'indexName'",
        "satisfy regular expression pattern: [a-zA-Z0-9_.-]+",
    ),
    (
        {"DistanceFunction": "cosine"},
        "Value 'cosine' at 'distanceFunction'",
        "satisfy enum value set: [COSINE, DOT_PRODUCT, EUCLIDEAN]",
    ),
    ({"SearchSchema": []}, "Value '[]' at 'searchSchema'", "have length greater than or equal to 1"),
    (
        {"VectorAttribute": {"AttributeName": ""}},
        "Value '' at 'vectorAttribute.attributeName'",
        "have length greater than or equal to 1",
    ),
    (
        {"SearchSchema": [{"AttributeName": "a", "SearchSchemaElementType": "hash"}]},
        "Value 'hash' at 'searchSchema.1.member.searchSchemaElementType'",
        "satisfy enum value set: [HASH, INLINE_FILTER]",
    ),
    (
        {"SearchSchema": [{"SearchSchemaElementType": "HASH"}]},
        "Value null at 'searchSchema.1.member.attributeName'",
        "not be null",
    ),
]


@pytest.mark.parametrize(("members", "place", "constraint"), MEMBER_FAULTS)
def test_constraints_of_members(raw: RawClient, members: dict[str, Any], place: str, constraint: str) -> None:
    text = ENVELOPE + place.replace("at '", "at 'vectorIndexes.1.member.") + FAILED + constraint
    request = create_request(fresh_name(), VectorIndexes=[vector_index(**members)])
    assert validation(raw, "CreateTable", request) == text
    table = VectorTable(raw, vector_index())
    code, told = table.refusal("UpdateTable", VectorIndexUpdates=[{"Create": vector_index("other", **members)}])
    assert (code, told) == (
        "ValidationException",
        text.replace("vectorIndexes.1.member.", "vectorIndexUpdates.1.member.create."),
    )


def test_dimensions_in_quotes_cannot_be_read(raw: RawClient) -> None:
    request = create_request(fresh_name(), VectorIndexes=[vector_index(Dimensions="3")])
    assert fault(raw, "CreateTable", request)[0] == "SerializationException"


@pytest.mark.parametrize(
    ("index", "shape"),
    [([], "VectorIndex"), (vector_index(SearchSchema=[[]]), "SearchSchemaElement")],
)
def test_lists_in_place_of_structures_are_told_by_the_names_of_the_model(
    raw: RawClient, index: Any, shape: str
) -> None:
    text = f"Unrecognized collection type class com.amazonaws.dynamodb.v20120810.{shape}"
    request = create_request(fresh_name(), VectorIndexes=[index])
    assert fault(raw, "CreateTable", request) == ("SerializationException", text)


BY_ITSELF: dict[str, tuple[dict[str, Any], str]] = {
    "dimensions": ({"Dimensions": 4097}, "Number of dimensions must be between 1 and 4096 inclusive."),
    "projection of all with names": (
        {"Projection": {"ProjectionType": "ALL", "NonKeyAttributes": ["a"]}},
        "ProjectionType is ALL, but NonKeyAttributes is specified",
    ),
    "projection without names": (
        {"Projection": {"ProjectionType": "INCLUDE"}},
        "ProjectionType is INCLUDE, but NonKeyAttributes is not specified",
    ),
    "a name twice": (
        {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["a", "a"]}},
        "Duplicate attribute name in NonKeyAttributes: a",
    ),
    "an attribute without a definition": (
        {"SearchSchema": search_schema("nowhere")},
        "One element in SearchSchema is not defined in attribute definitions",
    ),
    "two HASH elements": (
        {"SearchSchema": search_schema("f0") + search_schema("f1")},
        "Value '2' at 'SearchSchema' failed to satisfy constraint: Member must have HASH count less than or equal to 1",
    ),
    "an attribute twice": (
        {"SearchSchema": search_schema("f0", "f0")},
        "SearchSchema contains a duplicate AttributeName",
    ),
    "filters": (
        {"SearchSchema": search_schema(None, *[f"f{number}" for number in range(19)])},
        (
            "Value '19' at 'SearchSchema' failed to satisfy constraint: "
            "Member must have INLINE_FILTER count less than or equal to 18"
        ),
    ),
    "projected attributes": (
        {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"a{number}" for number in range(20)]}},
        "Number of projected attributes of vector index other exceeds the limit of 20",
    ),
    "a defined vector attribute": (
        {"VectorAttribute": {"AttributeName": "f0"}},
        (
            "Conflicting attribute definition for 'f0'. "
            "An attribute cannot be defined in AttributeDefinitions when used as a VectorAttribute."
        ),
    ),
}


@pytest.mark.parametrize("case", BY_ITSELF)
def test_what_an_index_may_not_be(raw: RawClient, case: str) -> None:
    members, text = BY_ITSELF[case]
    declared, defined = vector_index("other", **members), definitions("id", *[f"f{number}" for number in range(19)])
    request = create_request(fresh_name(), VectorIndexes=[declared], AttributeDefinitions=defined)
    assert validation(raw, "CreateTable", request) == INVALID + text
    table = VectorTable(raw, vector_index())
    update = {"VectorIndexUpdates": [{"Create": declared}], "AttributeDefinitions": defined}
    assert table.refusal("UpdateTable", **update) == ("ValidationException", INVALID + text)


@pytest.mark.parametrize(
    "members",
    [
        {"Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": [f"a{number}" for number in range(19)]}},
        {"SearchSchema": search_schema(None, *[f"f{number}" for number in range(18)])},
        {"SearchSchema": search_schema("id")},
        {"Dimensions": 4096},
        {"VectorAttribute": {"AttributeName": 'a "quoted" name\x00'}},
    ],
)
def test_what_an_index_may_be(raw: RawClient, members: dict[str, Any]) -> None:
    table = VectorTable(raw, vector_index(**members))
    assert {name: table.described()["plain"][name] for name in members} == members


TOGETHER: dict[str, tuple[dict[str, Any], str]] = {
    "none": ({"VectorIndexes": []}, "List of VectorIndexes is empty"),
    "six": (
        {"VectorIndexes": [vector_index(f"index{number}") for number in range(6)]},
        "VectorIndex count exceeds the per-table limit of 5",
    ),
    "one name": ({"VectorIndexes": [vector_index(), vector_index()]}, "Duplicate index name: plain"),
    "the name of a global index": (
        {"VectorIndexes": [vector_index()], "GlobalSecondaryIndexes": [index("plain")]},
        "Duplicate index name: plain",
    ),
    "other dimensions": (
        {"VectorIndexes": [vector_index("one"), vector_index("two", Dimensions=4)]},
        (
            "Conflicting attribute definition for 'embedding'. "
            "All VectorIndexes on the same vector attribute must use the same dimensions."
        ),
    ),
    "an unused definition": (
        {"VectorIndexes": [vector_index()], "AttributeDefinitions": definitions("id", "more")},
        "Some AttributeDefinitions are not used. AttributeDefinitions: [more, id], keys used: [id]",
    ),
    "provisioned": (
        {
            "VectorIndexes": [vector_index()],
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": units(1, 1),
        },
        "Vector indexes are only supported for PAY_PER_REQUEST tables",
    ),
    "no billing mode": (
        {"VectorIndexes": [vector_index()], "BillingMode": None},
        "Vector indexes are only supported for PAY_PER_REQUEST tables",
    ),
}


@pytest.mark.parametrize("case", TOGETHER)
def test_what_a_table_may_not_have(raw: RawClient, case: str) -> None:
    members, text = TOGETHER[case]
    assert validation(raw, "CreateTable", create_request(fresh_name(), **members)) == INVALID + text


def test_five_indexes_on_one_attribute(raw: RawClient) -> None:
    table = VectorTable(raw, *[vector_index(f"index{number}") for number in range(5)])
    assert len(table.described()) == 5
    assert table.refusal("UpdateTable", VectorIndexUpdates=[{"Create": vector_index("sixth")}]) == (
        "LimitExceededException",
        "Subscriber limit exceeded: Number of vector secondary indexes exceeds per-table limit of 5",
    )


# --- changes --------------------------------------------------------------------------------------


def test_an_added_index_holds_the_items_that_fit_it(raw: RawClient) -> None:
    table = VectorTable(raw, VectorIndexes=None, AttributeDefinitions=definitions("id"))
    good = [1, 2, 3]
    table.put("good", good, tenant="t")
    table.put("without HASH", good)
    table.put("HASH of another type", good, tenant={"N": "1"})
    table.put("empty HASH", good, tenant="")
    table.put("filter of another type", good, tenant="t", kind={"N": "1"})
    table.put("no list", {"S": "text"}, tenant="t")
    table.put("too short", good[:2], tenant="t")
    table.put("no numbers", {"L": [{"N": "1"}, {"S": "2"}, {"N": "3"}]}, tenant="t")
    table.put("too large", [1, 2, "1e39"], tenant="t")
    created = table.create(vector_index("schema", SearchSchema=search_schema("tenant", "kind")), "tenant", "kind")
    assert created["TableStatus"] == "UPDATING"
    (shown,) = created["VectorIndexes"]
    assert (shown["IndexStatus"], shown["Backfilling"]) == ("CREATING", False)
    table.wait("schema")
    assert "Backfilling" not in table.described()["schema"]
    assert table.counts() == {"schema": (1, 2 + 4 + 9 + 12 + 6 + 1)}
    table.put("too short", good, tenant="t")
    assert table.counts()["schema"][0] == 2


def test_a_deleted_index_takes_its_definitions_along(raw: RawClient) -> None:
    schemas = {"one": search_schema("tenant", "kind"), "two": search_schema("kind")}
    table = VectorTable(raw, *[vector_index(name, SearchSchema=schema) for name, schema in schemas.items()])
    table.put("a", [1, 2, 3], tenant="t", kind="k")
    deleted = table.ask("UpdateTable", VectorIndexUpdates=[{"Delete": {"IndexName": "one"}}])["TableDescription"]
    assert [one["IndexStatus"] for one in deleted["VectorIndexes"]] == ["DELETING", "ACTIVE"]
    assert deleted["TableStatus"] == "UPDATING"
    table.wait("one", None)
    described = table.ask("DescribeTable")["Table"]
    assert described["AttributeDefinitions"] == definitions("id", "kind")
    table.ask("UpdateTable", VectorIndexUpdates=[{"Delete": {"IndexName": "two"}}])
    table.wait("two", None)
    described = table.ask("DescribeTable")["Table"]
    assert "VectorIndexes" not in described
    assert described["ItemCount"] == 1
    table.put("a", {"S": "any value"})


REFUSED_UPDATES: dict[str, tuple[dict[str, Any], str]] = {
    "no action": (
        {"VectorIndexUpdates": [{}]},
        INVALID + "One of VectorIndexUpdate.Create, VectorIndexUpdate.Delete must not be null",
    ),
    "two actions": (
        {"VectorIndexUpdates": [{"Create": vector_index("other"), "Delete": {"IndexName": "other"}}]},
        INVALID + "Only one vector index action is allowed per VectorIndexUpdate object",
    ),
    "with a stream": (
        {
            "VectorIndexUpdates": [{"Create": vector_index("other")}],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
        },
        INVALID + "You cannot create or delete index while changing stream status",
    ),
    "to provisioned": (
        {"BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)},
        INVALID + "Tables with vector indexes must be in PAY_PER_REQUEST mode",
    ),
    "to provisioned, with the deletion": (
        {
            "BillingMode": "PROVISIONED",
            "ProvisionedThroughput": units(1, 1),
            "VectorIndexUpdates": [{"Delete": {"IndexName": "plain"}}],
        },
        INVALID + "Tables with vector indexes must be in PAY_PER_REQUEST mode",
    ),
    "a name that is there": (
        {"VectorIndexUpdates": [{"Create": vector_index()}]},
        "Attempting to create an index which already exists",
    ),
    "a global index of that name": (
        {"GlobalSecondaryIndexUpdates": [{"Create": index("plain")}], "AttributeDefinitions": definitions("id")},
        "Attempting to create an index which already exists",
    ),
    "an attribute that only the table defines": (
        {"VectorIndexUpdates": [{"Create": vector_index("other", SearchSchema=search_schema("tenant"))}]},
        INVALID + "One element in SearchSchema is not defined in attribute definitions",
    ),
    "another type": (
        {
            "VectorIndexUpdates": [{"Create": vector_index("other", SearchSchema=search_schema("tenant"))}],
            "AttributeDefinitions": [{"AttributeName": "tenant", "AttributeType": "N"}],
        },
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously"
        " defined. Existing schema: VectorIndexSchema:[SearchSchemaElement: key{tenant:S:HASH}]"
        " New schema: VectorIndexSchema:[SearchSchemaElement: key{tenant:N:HASH}]",
    ),
    "other dimensions": (
        {"VectorIndexUpdates": [{"Create": vector_index("other", Dimensions=4)}]},
        INVALID + "Conflicting attribute definition for 'embedding'. "
        "All VectorIndexes on the same vector attribute must use the same dimensions.",
    ),
    "the vector attribute is a key": (
        {
            "VectorIndexUpdates": [
                {"Create": vector_index("other", VectorAttribute={"AttributeName": "id"}, Dimensions=17)}
            ]
        },
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously"
        " defined. Existing schema: Schema:[SchemaElement: key{id:S:HASH}]"
        " New schema: VectorIndexSchema:[VectorAttribute: key{id:L:17}]",
    ),
    "the vector attribute is searched by": (
        {"VectorIndexUpdates": [{"Create": vector_index("other", VectorAttribute={"AttributeName": "tenant"})}]},
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously"
        " defined. Existing schema: VectorIndexSchema:[SearchSchemaElement: key{tenant:S:HASH}]"
        " New schema: VectorIndexSchema:[VectorAttribute: key{tenant:L:3}]",
    ),
    "searched by a vector attribute": (
        {
            "VectorIndexUpdates": [
                {
                    "Create": vector_index(
                        "other", VectorAttribute={"AttributeName": "v"}, SearchSchema=search_schema("embedding")
                    )
                }
            ],
            "AttributeDefinitions": definitions("embedding"),
        },
        INVALID + "Conflicting attribute definition for 'embedding'. An attribute cannot be defined in"
        " AttributeDefinitions when used as a VectorAttribute.",
    ),
    "a key is the vector attribute": (
        {
            "GlobalSecondaryIndexUpdates": [{"Create": index("other", "embedding")}],
            "AttributeDefinitions": definitions("embedding"),
        },
        INVALID + "Attributes cannot be redefined. Please check that your attribute has the same type as previously"
        " defined. Existing schema: VectorIndexSchema:[VectorAttribute: key{embedding:L:3}]"
        " New schema: Schema:[SchemaElement: key{embedding:S:HASH}]",
    ),
}


@pytest.mark.parametrize("case", REFUSED_UPDATES)
def test_refused_updates(raw: RawClient, case: str) -> None:
    members, text = REFUSED_UPDATES[case]
    table = VectorTable(raw, vector_index(SearchSchema=search_schema("tenant")))
    before = table.ask("DescribeTable")
    assert table.refusal("UpdateTable", **members) == ("ValidationException", text)
    assert table.ask("DescribeTable") == before


def test_one_change_of_indexes_at_a_time(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    create, unknown = {"Create": vector_index("other")}, {"Delete": {"IndexName": "unknown"}}
    for updates in (
        [create, create],
        [create, unknown],
        [unknown, unknown],
        [unknown, {"Delete": {"IndexName": "x1x"}}],
    ):
        assert table.refusal("UpdateTable", VectorIndexUpdates=updates) == TWO_CHANGES
    both = {
        "VectorIndexUpdates": [create],
        "GlobalSecondaryIndexUpdates": [{"Create": index("global")}],
        "AttributeDefinitions": definitions("id"),
    }
    assert table.refusal("UpdateTable", **both) == TWO_CHANGES
    assert table.refusal("UpdateTable", VectorIndexUpdates=[unknown]) == (
        "ResourceNotFoundException",
        f"Requested resource not found: Index unknown for table {table.name}",
    )


def test_an_empty_list_is_no_change(raw: RawClient) -> None:
    code, text = VectorTable(raw, vector_index()).refusal("UpdateTable", VectorIndexUpdates=[])
    assert code == "ValidationException"
    assert str(text).startswith("At least one of ProvisionedThroughput, ")


def test_a_table_becomes_on_demand_with_its_first_index(raw: RawClient) -> None:
    members = {"VectorIndexes": None, "BillingMode": "PROVISIONED", "ProvisionedThroughput": units(1, 1)}
    table = VectorTable(raw, **members, AttributeDefinitions=definitions("id"))
    update = {"VectorIndexUpdates": [{"Create": vector_index()}]}
    text = INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables"
    assert table.refusal("UpdateTable", **update) == ("ValidationException", text)
    table.ask("UpdateTable", **update, BillingMode="PAY_PER_REQUEST")
    table.wait("plain")


# --- reads that are not for vector indexes --------------------------------------------------------


def test_no_query_or_scan_of_a_vector_index(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    condition = {"KeyConditionExpression": "id = :id", "ExpressionAttributeValues": {":id": {"S": "a"}}}
    query = "ValidationException", "Query operation not supported on this index type."
    scan = "ValidationException", "Scan operation not supported on this index type"
    assert table.refusal("Query", IndexName="plain", **condition) == query
    consistent = "Consistent reads are not supported on global secondary indexes"
    asked = {"IndexName": "plain", "ConsistentRead": True}
    assert table.refusal("Query", **asked, **condition) == ("ValidationException", consistent)
    assert "must be specified in the request" in str(table.refusal("Query", IndexName="plain"))
    assert table.refusal("Scan", **asked) == scan
    statement = f'SELECT * FROM "{table.name}"."plain"'
    assert fault(raw, "ExecuteStatement", {"Statement": statement}) == scan


# --- backups --------------------------------------------------------------------------------------


def test_a_restored_table_has_the_indexes_that_are_wanted(raw: RawClient) -> None:
    declared = [
        vector_index("one", SearchSchema=search_schema("tenant")),
        vector_index("two", DistanceFunction="EUCLIDEAN"),
    ]
    table = VectorTable(raw, *declared)
    table.put("a", [1, 2, 3], tenant="t")
    table.put("b", [1, 2, 3])
    arn = table.ask("CreateBackup", BackupName="backup")["BackupDetails"]["BackupArn"]
    shown = raw("DescribeBackup", {"BackupArn": arn}).json()["BackupDescription"]
    assert shown["SourceTableFeatureDetails"]["VectorIndexes"] == declared
    for override, expected, defined in (
        (None, {"one": (1, 31), "two": (2, 55)}, ["id", "tenant"]),
        ([vector_index("new", DistanceFunction="EUCLIDEAN")], {"new": (2, 55)}, ["id"]),
        ([], {}, ["id"]),
    ):
        request: dict[str, Any] = {"TargetTableName": fresh_name("restored"), "BackupArn": arn}
        if override is not None:
            request["VectorIndexOverride"] = override
        assert raw("RestoreTableFromBackup", request).status == 200
        restored = VectorTable.present(raw, request["TargetTableName"])
        assert restored.counts() == expected
        assert restored.ask("DescribeTable")["Table"]["AttributeDefinitions"] == definitions(*defined)


def test_what_a_restore_does_not_make(raw: RawClient) -> None:
    table = VectorTable(raw, vector_index())
    arn = table.ask("CreateBackup", BackupName="backup")["BackupDetails"]["BackupArn"]
    request = {"TargetTableName": fresh_name("restored"), "BackupArn": arn}
    other = vector_index("new", Dimensions=4)
    assert "Index new does not match" in str(
        validation(raw, "RestoreTableFromBackup", request | {"VectorIndexOverride": [other]})
    )
    provisioned = {"BillingModeOverride": "PROVISIONED", "ProvisionedThroughputOverride": units(1, 1)}
    text = INVALID + "Vector indexes are only supported for PAY_PER_REQUEST tables"
    assert validation(raw, "RestoreTableFromBackup", request | provisioned) == text
    assert raw("RestoreTableFromBackup", request | provisioned | {"VectorIndexOverride": []}).status == 200
