"""Which requests count for which keys? Units of partition keys agree with ConsumedCapacity,
over all operations, for tables and global indexes.
"""

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from hashrange.settings import Settings
from hashrange.testing import Fault, server
from hashrange.testing.database import Database
from hashrange.throughput import capacity_side
from tests.unit.insights.seen import ONCE, TABLE, report, units, values, watch

INDEXES = "INDEXES"


def item(page: str, at: str, size_bytes: int = 10, **members: Any) -> dict[str, Any]:
    text = {"text": {"S": "x" * size_bytes}}
    return {"page": {"S": page}, "at": {"N": at}, "who": {"S": "ann"}, "seconds": {"N": at}, **text, **members}


def key(page: str, at: str) -> dict[str, Any]:
    return {"page": {"S": page}, "at": {"N": at}}


# C901: a branch for each operation
@pytest.mark.parametrize("seed", range(3))
def test_units_agree_with_consumed_capacity_over_random_requests(database: Database, seed: int) -> None:  # noqa: C901
    rng, client = random.Random(seed), database.client()
    client.create_table(**TABLE)
    rules, of_index = watch(client), watch(client, IndexName="by-who")["PKC"]
    expected: dict[str, float] = {}
    expected_of_index: dict[str, float] = {}

    def count(reply: Any, weight: int, page: str | None, who: str | None = None) -> None:
        if page is not None:
            expected[page] = expected.get(page, 0) + weight * units(reply)
        if who is not None:
            used = weight * units(reply, "by-who")
            if used:
                expected_of_index[who] = expected_of_index.get(who, 0) + used

    for _ in range(80):
        page, at, who = rng.choice("abc"), str(rng.randrange(6)), rng.choice(["ann", "bob"])
        size_bytes, strongly = rng.choice((10, 3_000, 9_000)), rng.random() < 0.5
        kind = rng.randrange(9)
        common: dict[str, Any] = {"TableName": "visits", "ReturnConsumedCapacity": INDEXES}
        if kind == 0:  # who stays the same for each item, so that entries stay at their keys
            who = "ann" if page == "a" else "bob"
            count(client.put_item(**common, Item=item(page, at, size_bytes, who={"S": who})), 3, page, who)
        elif kind == 1:
            count(client.get_item(**common, Key=key(page, at), ConsistentRead=strongly), 1, page)
        elif kind == 2:
            pages = {"ExpressionAttributeValues": {":p": {"S": page}}, "KeyConditionExpression": "page = :p"}
            limit = {"Limit": 2} if strongly else {}
            count(client.query(**common, **pages, **limit, ConsistentRead=strongly), 1, page)
        elif kind == 3:
            pages = {"ExpressionAttributeValues": {":p": {"S": page}}, "KeyConditionExpression": "page = :p"}
            count(client.query(**common, **pages, IndexName="by-seconds", ConsistentRead=strongly), 1, page)
        elif kind == 4:
            names = {"ExpressionAttributeValues": {":w": {"S": who}}, "KeyConditionExpression": "who = :w"}
            count(client.query(**common, **names, IndexName="by-who"), 1, None, who)
        elif kind == 5:
            reply = client.transact_get_items(
                TransactItems=[{"Get": {"TableName": "visits", "Key": key(page, at)}}], ReturnConsumedCapacity=INDEXES
            )
            count(reply, 1, page)
        elif kind == 6:
            reply = client.delete_item(**common, Key=key(page, at))
            count(reply, 3, page, "ann" if page == "a" else "bob")
        elif kind == 7:
            who = "ann" if page == "a" else "bob"
            put = {"Put": {"TableName": "visits", "Item": item(page, at, size_bytes, who={"S": who})}}
            token = f"token-{rng.randrange(10**9)}"
            for weight in (3, 1):  # the second one is a replay, which reads
                reply = client.transact_write_items(
                    TransactItems=[put], ReturnConsumedCapacity=INDEXES, ClientRequestToken=token
                )
                count(reply, weight, page, who)
        else:
            reply = client.batch_get_item(
                RequestItems={"visits": {"Keys": [key(page, "1"), key(page, "2")], "ConsistentRead": strongly}},
                ReturnConsumedCapacity=INDEXES,
            )
            count(reply, 1, page)
    assert values(database, rules["PKC"]) == pytest.approx(expected)
    assert values(database, of_index) == pytest.approx(expected_of_index)
    assert report(database, rules["PKC"])["AggregateValue"] == pytest.approx(sum(expected.values()))


def test_items_share_the_units_of_a_page(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    for number in range(10):
        client.put_item(TableName="visits", Item=item("ab"[number % 2], str(number), 4_000))
    rules = watch(client)
    reply = client.scan(TableName="visits", ReturnConsumedCapacity=INDEXES)
    pages = values(database, rules["PKC"])
    assert sum(pages.values()) == pytest.approx(units(reply))
    assert pages["a"] == pytest.approx(pages["b"], rel=0.01)
    items = values(database, rules["SKC"])
    assert sum(items.values()) == pytest.approx(units(reply))
    assert set(items) == {f"{'ab'[number % 2]},{number}" for number in range(10)}


def test_local_index_with_items_fetched_from_the_table(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    for number in range(5):
        client.put_item(TableName="visits", Item=item("a", str(number), 5_000))
    rule = watch(client)["PKC"]
    reply = client.query(
        TableName="visits",
        IndexName="by-seconds",
        KeyConditionExpression="page = :p",
        ExpressionAttributeValues={":p": {"S": "a"}},
        Select="ALL_ATTRIBUTES",
        ReturnConsumedCapacity=INDEXES,
    )
    assert values(database, rule) == pytest.approx({"a": units(reply)})


def test_a_write_that_its_condition_refuses_counts(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    client.put_item(TableName="visits", Item=item("a", "1", 2_500))
    rule = watch(client)["PKC"]
    with pytest.raises(client.exceptions.ConditionalCheckFailedException):
        client.put_item(TableName="visits", Item=item("a", "1"), ConditionExpression="attribute_not_exists(page)")
    assert values(database, rule) == {"a": 9.0}


def test_a_transaction_counts_for_the_items_that_refused_it(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    client.put_item(TableName="visits", Item=item("a", "1", 2_500))
    rule = watch(client)["PKC"]
    refused = {
        "Put": {"TableName": "visits", "Item": item("a", "1"), "ConditionExpression": "attribute_not_exists(page)"}
    }
    for other in ("b", "c"):
        with pytest.raises(client.exceptions.TransactionCanceledException):
            client.transact_write_items(
                TransactItems=[refused, {"Put": {"TableName": "visits", "Item": item(other, "1")}}]
            )
    assert values(database, rule) == {"a": 36.0}


def test_items_that_a_batch_has_read_and_leaves_unprocessed_count_for_nothing(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rules = watch(client)
    for number in range(6):
        client.put_item(TableName="visits", Item=item("a", str(number), 300_000))
    before, keys = values(database, rules["SKC"]), [key("a", str(number)) for number in range(6)]
    reply = client.batch_get_item(RequestItems={"visits": {"Keys": keys}}, ReturnConsumedCapacity=INDEXES)
    assert len(reply["UnprocessedKeys"]["visits"]["Keys"]) == 3
    more = {name: value - before[name] for name, value in values(database, rules["SKC"]).items()}
    assert [name for name, value in more.items() if value] == ["a,0", "a,1", "a,2"]
    assert sum(more.values()) == units(reply)


def test_an_entry_that_moves_counts_at_both_keys(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    client.put_item(TableName="visits", Item=item("a", "1", token={"B": b"\0\1\0"}))
    rules = watch(client, IndexName="by-token")
    client.put_item(TableName="visits", Item=item("a", "1", who={"S": "bob"}, token={"B": b"\0\1\0"}))
    assert values(database, rules["PKC"]) == {"ann": 3.0, "bob": 3.0}
    assert values(database, rules["SKC"]) == {"ann,AAEA": 3.0, "bob,AAEA": 3.0}
    assert report(database, rules["SKC"])["KeyLabels"] == ["who", "token"]


def test_items_with_the_same_index_key_are_one_contributor(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rules = watch(client, IndexName="by-token")
    for at in "123":
        client.put_item(TableName="visits", Item=item("a", at, token={"B": b"t"}))
    assert values(database, rules["SKC"]) == {"ann,dA==": 9.0}


def test_statements_are_not_counted(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["PKC"]
    select = "SELECT * FROM visits WHERE page = 'a' AND \"at\" = 1"
    client.execute_statement(Statement="INSERT INTO visits VALUE {'page': 'a', 'at': 1}")
    client.execute_statement(Statement=select)
    client.execute_statement(Statement="SELECT * FROM visits")
    client.batch_execute_statement(Statements=[{"Statement": select}])
    client.execute_transaction(TransactStatements=[{"Statement": select}])
    assert values(database, rule) == {}


def test_numbers_have_one_form(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    rule = watch(client)["SKC"]
    for at in ("1", "1.0", "0.1e1"):
        client.put_item(TableName="visits", Item=key("a", at))
    client.query(TableName="visits", KeyConditionExpression="page = :p", ExpressionAttributeValues={":p": {"S": "a"}})
    assert values(database, rule) == {"a,1": 9.5}


def test_accounts_and_regions_are_counted_apart(database: Database) -> None:
    clients = {region: database.client(region_name=region) for region in ("us-east-1", "eu-west-1")}
    rules = {}
    for region, client in clients.items():
        client.create_table(**TABLE)
        rules[region] = watch(client)["PKC"]
    clients["eu-west-1"].put_item(TableName="visits", Item=key("a", "1"))
    assert values(database, rules["eu-west-1"], region="eu-west-1") == {"a": 3.0}
    assert values(database, rules["us-east-1"], region="us-east-1") == {}
    with pytest.raises(ClientError, match="ResourceNotFound"):
        report(database, rules["eu-west-1"], region="us-east-1")


def test_names_that_would_be_the_same_are_not(database: Database) -> None:
    client = database.client()
    for table, name in (("aaa", "bbb-ccc"), ("aaa-bbb", "ccc")):
        index = {**TABLE["GlobalSecondaryIndexes"][1], "IndexName": name}
        client.create_table(**TABLE | {"TableName": table, "GlobalSecondaryIndexes": [index]})
    names = {watch(client, "aaa", IndexName="bbb-ccc")["PKC"], watch(client, "aaa-bbb", IndexName="ccc")["PKC"]}
    assert len(names) == 2


def test_long_names_of_tables_make_names_of_rules_that_reports_take(database: Database) -> None:
    client, name = database.client(), "t" * 255
    client.create_table(**TABLE | {"TableName": name})
    rules = watch(client, name)
    assert all(len(rule) == 128 for rule in rules.values())
    client.put_item(TableName=name, Item=key("a", "1"))
    assert values(database, rules["PKC"]) == {"a": 3.0}


def test_what_is_deleted_is_not_watched_when_it_comes_back(database: Database) -> None:
    client = database.client()
    client.create_table(**TABLE)
    (index,) = [one for one in TABLE["GlobalSecondaryIndexes"] if one["IndexName"] == "by-who"]
    watch(client, IndexName="by-who")
    changes: list[dict[str, Any]] = [{"Delete": {"IndexName": "by-who"}}, {"Create": index}]
    for change in changes:
        client.update_table(
            TableName="visits",
            AttributeDefinitions=TABLE["AttributeDefinitions"],
            GlobalSecondaryIndexUpdates=[change],
        )
    place = {"TableName": "visits", "IndexName": "by-who"}
    assert client.describe_contributor_insights(**place)["ContributorInsightsStatus"] == "DISABLED"
    assert client.list_contributor_insights()["ContributorInsightsSummaries"] == []
    assert database.client("cloudwatch").describe_insight_rules()["InsightRules"] == []


def service_of(database: Database) -> Any:
    return database._process.service


def test_only_what_is_watched_costs_anything(database: Database) -> None:
    client, service = database.client(), service_of(database)
    client.create_table(**TABLE)
    client.get_item(TableName="visits", Key=key("a", "1"))
    assert service.features.front is service.store
    place: dict[str, Any] = {"TableName": "visits"}
    endings: list[Callable[[], Any]] = [
        lambda: client.update_contributor_insights(**place, ContributorInsightsAction="DISABLE"),
        lambda: client.delete_table(**place),
        database.reset,
    ]
    for end in endings:
        watch(client)
        assert service.features.front is not service.store
        client.get_item(TableName="visits", Key=key("a", "1"))
        end()
        assert service.features.front is service.store
        assert "_succeed" not in vars(service)
        if client.list_tables()["TableNames"] == []:
            client.create_table(**TABLE)
    database.clock.advance(3600)
    assert service.store.documents.below("contributor-insights/") == []
    assert service.store.documents.below("insight-counts/") == []


def test_throttled_keys_in_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table keeps the units of 30 seconds instead of 300, so that they are used up sooner."""
    monkeypatch.setattr(capacity_side, "BURST_SECONDS", 30)
    capacity = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
    with server(Settings(data_dir=None, throughput="enforced")) as database:
        database.clock.freeze()
        client = database.client(config=ONCE)
        indexes = [{**one, "ProvisionedThroughput": capacity} for one in TABLE["GlobalSecondaryIndexes"]]
        provisioned = {"BillingMode": "PROVISIONED", "ProvisionedThroughput": capacity}
        client.create_table(**TABLE | provisioned | {"GlobalSecondaryIndexes": indexes})
        rules = watch(client, ContributorInsightsMode="THROTTLED_KEYS")
        assert list(rules) == ["PKT", "SKT"]
        throttled: Counter[str] = Counter()
        for number in range(40):
            page = "hot" if number > 20 else "cold"
            try:
                client.put_item(TableName="visits", Item=key(page, str(number)))
            except client.exceptions.ProvisionedThroughputExceededException:
                throttled[page] += 1
        assert values(database, rules["PKT"]) == throttled
        assert report(database, rules["SKT"])["ApproximateUniqueCount"] == throttled.total()
        for _ in range(100):
            try:
                client.query(
                    TableName="visits",
                    KeyConditionExpression="page = :p AND #a >= :a",
                    ExpressionAttributeNames={"#a": "at"},
                    ExpressionAttributeValues={":p": {"S": "read"}, ":a": {"N": "7"}},
                )
            except client.exceptions.ProvisionedThroughputExceededException:
                throttled["read"] += 1
        assert throttled["read"]
        assert values(database, rules["PKT"]) == throttled
        assert report(database, rules["SKT"])["ApproximateUniqueCount"] == throttled["hot"]


def test_throttles_of_the_fault_plan_count(database: Database) -> None:
    client = database.client(config=ONCE)
    client.create_table(**TABLE)
    rules = watch(client)
    database.faults.use(Fault("throttle"))
    for _ in range(3):
        with pytest.raises(ClientError):
            client.put_item(TableName="visits", Item=key("a", "1"))
    with pytest.raises(ClientError):
        client.execute_statement(Statement="INSERT INTO visits VALUE {'page': 'a', 'at': 1}")
    assert values(database, rules["PKT"]) == {"a": 3.0}
    assert values(database, rules["SKT"]) == {"a,1": 3.0}
    assert values(database, rules["PKC"]) == {}


def watch_vectors(client: Any, dimensions: int) -> Any:
    """Create the table with a vector index, and watch it; returns its rule of units."""
    index = {
        "IndexName": "vix",
        "VectorAttribute": {"AttributeName": "embedding"},
        "SearchSchema": [{"AttributeName": "who", "SearchSchemaElementType": "HASH"}],
        "Dimensions": dimensions,
        "DistanceFunction": "COSINE",
        "Projection": {"ProjectionType": "ALL"},
    }
    client.create_table(**TABLE, VectorIndexes=[index])
    return watch(client)["PKC"]


def test_reads_of_vectors_count_as_they_are_charged(database: Database) -> None:
    client = database.client(config=ONCE)
    counted = watch_vectors(client, 200)
    vector = {"L": [{"N": "0." + "1" * 38}] * 200}
    written = client.put_item(TableName="visits", Item=item("a", "1", embedding=vector), ReturnConsumedCapacity=INDEXES)
    asked = {"TableName": "visits", "Key": key("a", "1")}
    read = client.get_item(**asked, ConsistentRead=True, ReturnConsumedCapacity=INDEXES)
    client.transact_get_items(TransactItems=[{"Get": asked}])
    assert units(read) == 1
    assert values(database, counted) == {"a": 3 * units(written) + units(read) + 2}


def test_vector_indexes_count_for_no_key(database: Database) -> None:
    client = database.client(config=ONCE)
    counted = watch_vectors(client, 2)
    vector = [{"N": "1"}, {"N": "0"}]
    reply = client.put_item(
        TableName="visits", Item=item("a", "1", 3_000, embedding={"L": vector}), ReturnConsumedCapacity=INDEXES
    )
    found = client.search_vectors(
        TableName="visits",
        IndexName="vix",
        SearchVector=vector,
        TopK=1,
        SearchConditionExpression="who = :who",
        ExpressionAttributeValues={":who": {"S": "ann"}},
    )
    assert len(found["SearchResults"]) == 1
    assert values(database, counted) == {"a": 3 * units(reply)}
    with pytest.raises(client.exceptions.ResourceNotFoundException, match="vix"):
        watch(client, IndexName="vix")
