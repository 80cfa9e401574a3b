package dax;

import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletionException;
import java.util.logging.LogManager;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.*;
import software.amazon.dax.ClusterDaxAsyncClient;
import software.amazon.dax.ClusterDaxClient;
import software.amazon.dax.Configuration;

/**
 * A shop through DAX and directly: the same requests through both, each on a table of its own; prints what each heard, as JSON.
 *
 * <p>Arguments: the endpoint of DynamoDB, that of DAX, and which clients: blocking or async.
 */
public final class Shop {
  private static final List<String> TABLES = List.of("through-dax", "directly");
  private static final Map<String, AttributeValue> KEY = Map.of("pk", s("product-1"), "sk", n("1"));
  private static final Map<String, AttributeValue> MISSING = Map.of("pk", s("nobody"), "sk", n("-7.5"));

  /** The methods of a client, blocking or not. */
  private record Data(
      Call<GetItemRequest, GetItemResponse> get, Call<PutItemRequest, PutItemResponse> put,
      Call<UpdateItemRequest, UpdateItemResponse> update, Call<DeleteItemRequest, DeleteItemResponse> delete,
      Call<QueryRequest, QueryResponse> query, Call<ScanRequest, ScanResponse> scan,
      Call<BatchGetItemRequest, BatchGetItemResponse> batchGet, Call<BatchWriteItemRequest, BatchWriteItemResponse> batchWrite,
      Call<TransactGetItemsRequest, TransactGetItemsResponse> transactGet,
      Call<TransactWriteItemsRequest, TransactWriteItemsResponse> transactWrite) {
    static Data of(DynamoDbClient client) {
      return new Data(client::getItem, client::putItem, client::updateItem, client::deleteItem, client::query, client::scan,
          client::batchGetItem, client::batchWriteItem, client::transactGetItems, client::transactWriteItems);
    }

    static Data of(DynamoDbAsyncClient client) {
      return new Data(r -> client.getItem(r).join(), r -> client.putItem(r).join(), r -> client.updateItem(r).join(),
          r -> client.deleteItem(r).join(), r -> client.query(r).join(), r -> client.scan(r).join(),
          r -> client.batchGetItem(r).join(), r -> client.batchWriteItem(r).join(), r -> client.transactGetItems(r).join(),
          r -> client.transactWriteItems(r).join());
    }
  }

  private interface Call<Q, R> {
    R send(Q request);
  }

  public static void main(String[] arguments) throws Exception {
    LogManager.getLogManager().reset(); // the client tells on standard error that it has connected
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("AKIDEXAMPLE", "secret"));
    var endpoint = URI.create(arguments[0]);
    var configuration = Configuration.builder().region(Region.EU_WEST_1).credentialsProvider(credentials).url(arguments[1]).build();
    var blocking = DynamoDbClient.builder()
        .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
    TABLES.forEach(table -> blocking.createTable(options(table)));
    List<Object> through;
    List<Object> directly;
    if (arguments[2].equals("blocking")) {
      try (var dax = ClusterDaxClient.builder().overrideConfiguration(configuration).build()) {
        through = heard(steps(Data.of(dax), TABLES.get(0)));
      }
      directly = heard(steps(Data.of(blocking), TABLES.get(1)));
    } else {
      try (var dax = ClusterDaxAsyncClient.builder().overrideConfiguration(configuration).build();
          var async = DynamoDbAsyncClient.builder()
              .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build()) {
        through = heard(steps(Data.of(dax), TABLES.get(0)));
        directly = heard(steps(Data.of(async), TABLES.get(1)));
      }
    }
    blocking.close();
    var told = "{\"through\":" + json(through) + ",\"directly\":" + json(directly) + "}";
    new PrintStream(System.out, true, StandardCharsets.UTF_8).println(told);
    System.exit(0);
  }

  private static CreateTableRequest options(String table) {
    return CreateTableRequest.builder()
        .tableName(table)
        .billingMode(BillingMode.PAY_PER_REQUEST)
        .keySchema(part("pk", KeyType.HASH), part("sk", KeyType.RANGE))
        .attributeDefinitions(typed("pk", "S"), typed("sk", "N"), typed("kind", "S"))
        .globalSecondaryIndexes(GlobalSecondaryIndex.builder()
            .indexName("kinds")
            .keySchema(part("kind", KeyType.HASH), part("sk", KeyType.RANGE))
            .projection(p -> p.projectionType(ProjectionType.ALL))
            .build())
        .build();
  }

  private static KeySchemaElement part(String name, KeyType type) {
    return KeySchemaElement.builder().attributeName(name).keyType(type).build();
  }

  private static AttributeDefinition typed(String name, String type) {
    return AttributeDefinition.builder().attributeName(name).attributeType(type).build();
  }

  private static AttributeValue s(String value) {
    return AttributeValue.builder().s(value).build();
  }

  private static AttributeValue n(String value) {
    return AttributeValue.builder().n(value).build();
  }

  private static Map<String, AttributeValue> product(int number) {
    var all = List.of(n("1"), AttributeValue.builder().bool(true).build(), AttributeValue.builder().nul(true).build());
    var sizes = Map.of("height", n("41.25"), "all", AttributeValue.builder().l(all).build());
    return Map.of(
        "pk", s("product-" + number % 3), "sk", n("" + number), "kind", s(number % 2 == 0 ? "pen" : "lamp"), "cents", n(number + ".25"),
        "tags", AttributeValue.builder().ss("desk", "äther").build(), "sizes", AttributeValue.builder().m(sizes).build(),
        "picture", AttributeValue.builder().b(SdkBytes.fromByteArray(new byte[] {0, -1})).build(),
        "codes", AttributeValue.builder().ns("-1.5", "4", "30").build());
  }

  private static Map<String, AttributeValue> product(int number, String name, AttributeValue value) {
    var made = new HashMap<>(product(number));
    made.put(name, value);
    return made;
  }

  private static List<Callable<Object>> steps(Data data, String table) {
    var made = new ArrayList<Callable<Object>>();
    for (int number = 0; number < 8; number++) {
      var item = product(number);
      made.add(() -> data.put.send(PutItemRequest.builder().tableName(table).item(item).build()));
    }
    var get = GetItemRequest.builder().tableName(table).key(KEY).build();
    made.add(() -> data.get.send(get));
    made.add(() -> data.get.send(get.toBuilder().key(MISSING).build()));
    made.add(() -> data.get.send(get.toBuilder().consistentRead(true).returnConsumedCapacity(ReturnConsumedCapacity.TOTAL).build()));
    made.add(() -> data.get.send(get.toBuilder()
        .projectionExpression("sizes.#a[1], cents").expressionAttributeNames(Map.of("#a", "all")).build()));
    made.add(() -> data.put.send(PutItemRequest.builder()
        .tableName(table).item(product(1)).conditionExpression("attribute_not_exists(pk)").build()));
    made.add(() -> data.put.send(PutItemRequest.builder()
        .tableName(table).item(product(1, "stock", n("5"))).returnValues(ReturnValue.ALL_OLD).build()));
    var update = UpdateItemRequest.builder().tableName(table).key(KEY).build();
    made.add(() -> data.update.send(update.toBuilder()
        .updateExpression("SET stock = stock - :one, seen = if_not_exists(seen, :zero) + :one REMOVE sizes.height")
        .conditionExpression("stock >= :one AND (begins_with(kind, :l) OR size(tags) > :one)")
        .expressionAttributeValues(Map.of(":one", n("1"), ":zero", n("0"), ":l", s("la")))
        .returnValues(ReturnValue.ALL_NEW).build()));
    made.add(() -> data.update.send(update.toBuilder()
        .updateExpression("SET stock = :none").expressionAttributeValues(Map.of(":none", n("0")))
        .returnValues(ReturnValue.UPDATED_OLD).build()));
    made.add(() -> data.update.send(update.toBuilder()
        .updateExpression("SET absent = gone + :one").expressionAttributeValues(Map.of(":one", n("1"))).build()));
    made.add(() -> data.get.send(get));
    made.add(() -> pages(data, QueryRequest.builder().tableName(table)
        .keyConditionExpression("pk = :p AND sk BETWEEN :a AND :b").filterExpression("contains(tags, :t) AND cents IN (:x, :y)")
        .expressionAttributeValues(Map.of(
            ":p", s("product-1"), ":a", n("1"), ":b", n("7"), ":t", s("desk"), ":x", n("4.25"), ":y", n("7.25"))).build()));
    made.add(() -> pages(data, QueryRequest.builder().tableName(table).keyConditionExpression("pk = :p")
        .expressionAttributeValues(Map.of(":p", s("product-0"))).limit(2).scanIndexForward(false).build()));
    made.add(() -> pages(data, QueryRequest.builder().tableName(table).indexName("kinds").keyConditionExpression("kind = :k")
        .expressionAttributeValues(Map.of(":k", s("pen"))).limit(3).build()));
    made.add(() -> pages(data, QueryRequest.builder().tableName(table).keyConditionExpression("pk = :p")
        .expressionAttributeValues(Map.of(":p", s("product-2"))).projectionExpression("sk, sizes.height").build()));
    made.add(() -> pages(data, QueryRequest.builder().tableName(table).keyConditionExpression("pk = :p")
        .expressionAttributeValues(Map.of(":p", s("product-2"))).select(Select.COUNT).build()));
    made.add(() -> data.scan.send(ScanRequest.builder().tableName(table).build()));
    made.add(() -> data.batchWrite.send(BatchWriteItemRequest.builder().requestItems(Map.of(table, List.of(
        WriteRequest.builder().putRequest(p -> p.item(product(20))).build(),
        WriteRequest.builder().deleteRequest(d -> d.key(Map.of("pk", s("product-0"), "sk", n("0")))).build()))).build()));
    made.add(() -> data.batchGet.send(BatchGetItemRequest.builder().requestItems(Map.of(table, KeysAndAttributes.builder()
        .keys(KEY, MISSING, Map.of("pk", s("product-2"), "sk", n("20"))).build())).build()));
    var isNew = Put.builder().tableName(table).item(product(30)).conditionExpression("attribute_not_exists(pk)").build();
    made.add(() -> data.transactWrite.send(TransactWriteItemsRequest.builder().transactItems(
        TransactWriteItem.builder().put(isNew).build(),
        TransactWriteItem.builder().update(u -> u.tableName(table).key(KEY)
            .updateExpression("SET sold = :s").expressionAttributeValues(Map.of(":s", n("1")))).build(),
        TransactWriteItem.builder().conditionCheck(c -> c.tableName(table).key(Map.of("pk", s("product-2"), "sk", n("2")))
            .conditionExpression("attribute_exists(pk)")).build()).build()));
    made.add(() -> data.transactGet.send(TransactGetItemsRequest.builder().transactItems(
        TransactGetItem.builder().get(g -> g.tableName(table).key(KEY)).build(),
        TransactGetItem.builder().get(g -> g.tableName(table).key(MISSING)).build()).build()));
    made.add(() -> data.transactWrite.send(TransactWriteItemsRequest.builder().transactItems(
        TransactWriteItem.builder().put(isNew).build(),
        TransactWriteItem.builder().delete(d -> d.tableName(table).key(MISSING)).build()).build()));
    made.add(() -> data.delete.send(DeleteItemRequest.builder()
        .tableName(table).key(KEY).returnValues(ReturnValue.ALL_OLD).build()));
    made.add(() -> data.get.send(get));
    made.add(() -> data.get.send(get.toBuilder().tableName("no-such-table").build()));
    made.add(() -> data.update.send(update.toBuilder()
        .updateExpression("SET pk = :p").expressionAttributeValues(Map.of(":p", s("x"))).build()));
    return made;
  }

  private static List<QueryResponse> pages(Data data, QueryRequest request) {
    var found = new ArrayList<QueryResponse>();
    for (var next = request; next != null; ) {
      var page = data.query.send(next);
      found.add(page);
      next = page.hasLastEvaluatedKey() ? request.toBuilder().exclusiveStartKey(page.lastEvaluatedKey()).build() : null;
    }
    return found;
  }

  private static List<Object> heard(List<Callable<Object>> steps) throws Exception {
    var found = new ArrayList<Object>();
    for (var step : steps) {
      try {
        found.add(step.call());
      } catch (CompletionException error) {
        found.add(told(error.getCause()));
      } catch (AwsServiceException error) {
        found.add(told(error));
      }
    }
    return found;
  }

  private static Object told(Throwable error) throws Exception {
    if (error instanceof AwsServiceException service && service.awsErrorDetails() != null) {
      return List.of(service.awsErrorDetails().errorCode(), service.awsErrorDetails().errorMessage());
    }
    throw new Exception(error);
  }

  /** JSON of the SDK's values; the names of tables, which differ, are TABLE. */
  private static String json(Object value) {
    if (value instanceof List<?> list) {
      return list.stream().map(Shop::json).collect(Collectors.joining(",", "[", "]"));
    }
    if (value instanceof Map<?, ?> map) {
      return map.entrySet().stream().map(e -> json(e.getKey().toString()) + ":" + json(e.getValue())).sorted()
          .collect(Collectors.joining(",", "{", "}"));
    }
    if (value instanceof software.amazon.awssdk.core.SdkPojo pojo) {
      var members = new HashMap<String, Object>();
      for (var field : pojo.sdkFields()) {
        var found = field.getValueOrDefault(pojo);
        boolean isEmpty = found == null || found instanceof List<?> list && list.isEmpty() || found instanceof Map<?, ?> map && map.isEmpty();
        if (!isEmpty) {
          members.put(field.memberName(), found);
        }
      }
      return json(members);
    }
    if (value instanceof SdkBytes bytes) {
      return json(java.util.Base64.getEncoder().encodeToString(bytes.asByteArray()));
    }
    if (value instanceof Number || value instanceof Boolean) {
      return value.toString();
    }
    var text = TABLES.contains(value.toString()) ? "TABLE" : value.toString();
    return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
  }
}
