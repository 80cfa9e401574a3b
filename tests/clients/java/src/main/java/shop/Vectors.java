package shop;

import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.DoubleStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.SearchSchemaElementType;
import software.amazon.awssdk.services.dynamodb.model.SearchVectorsResponse;
import software.amazon.awssdk.services.dynamodb.model.VectorDistanceFunction;

/**
 * Documents in a table with a vector index, which are searched.
 *
 * <p>Argument: endpoint. Prints what it has heard.
 */
public final class Vectors {
  private static final String TABLE = "Documents";

  private Vectors() {}

  public static void main(String[] arguments) {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    try (var client = DynamoDbClient.builder().endpointOverride(URI.create(arguments[0])).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).build()) {
      fill(client);
      var found = search(client, 1, 0.5);
      var results = found.searchResults().stream().map(one ->
          List.of(one.item().get("id").s(), new TreeSet<>(one.item().keySet()), one.score())).toList();
      System.out.print(Plain.json(Map.of("found", results, "refused", refusal(client),
          "bytes", found.consumedCapacity().vectorSearchRequestBytes())));
    }
  }

  private static List<AttributeValue> numbers(double... elements) {
    return DoubleStream.of(elements).mapToObj(one -> AttributeValue.fromN(String.valueOf(one))).toList();
  }

  private static void fill(DynamoDbClient client) {
    client.createTable(t -> t.tableName(TABLE).billingMode(BillingMode.PAY_PER_REQUEST)
        .keySchema(k -> k.attributeName("id").keyType(KeyType.HASH))
        .attributeDefinitions(a -> a.attributeName("id").attributeType(ScalarAttributeType.S),
            a -> a.attributeName("shelf").attributeType(ScalarAttributeType.S))
        .vectorIndexes(i -> i.indexName("by-meaning").vectorAttribute(v -> v.attributeName("embedding")).dimensions(2L)
            .distanceFunction(VectorDistanceFunction.EUCLIDEAN)
            .searchSchema(s -> s.attributeName("shelf").searchSchemaElementType(SearchSchemaElementType.HASH))
            .projection(p -> p.projectionType(ProjectionType.KEYS_ONLY))));
    client.waiter().waitUntilTableExists(d -> d.tableName(TABLE));
    put(client, "near", "a", 1, 0.5);
    put(client, "far", "a", 4, 4.5);
    put(client, "elsewhere", "b", 1, 0.5);
  }

  private static void put(DynamoDbClient client, String id, String shelf, double... vector) {
    client.putItem(p -> p.tableName(TABLE).item(Map.of("id", AttributeValue.fromS(id), "shelf", AttributeValue.fromS(shelf),
        "embedding", AttributeValue.fromL(numbers(vector)), "text", AttributeValue.fromS("x"))));
  }

  private static SearchVectorsResponse search(DynamoDbClient client, double... vector) {
    return client.searchVectors(s -> s.tableName(TABLE).indexName("by-meaning").searchVector(numbers(vector)).topK(5)
        .searchConditionExpression("shelf = :shelf")
        .expressionAttributeValues(Map.of(":shelf", AttributeValue.fromS("a")))
        .returnConsumedCapacity(ReturnConsumedCapacity.TOTAL));
  }

  private static List<String> refusal(DynamoDbClient client) {
    try {
      search(client, 1);
      return List.of();
    } catch (DynamoDbException error) {
      return List.of(error.awsErrorDetails().errorCode(), error.awsErrorDetails().errorMessage());
    }
  }
}
