package shop;

import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.applicationautoscaling.ApplicationAutoScalingClient;
import software.amazon.awssdk.services.applicationautoscaling.model.ServiceNamespace;
import software.amazon.awssdk.services.cloudwatch.CloudWatchClient;
import software.amazon.awssdk.services.cloudwatch.model.Dimension;
import software.amazon.awssdk.services.cloudwatch.model.StandardUnit;
import software.amazon.awssdk.services.cloudwatch.model.Statistic;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughputExceededException;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;

/**
 * Throttling, CloudWatch and Application Auto Scaling.
 *
 * <p>Argument: endpoint. Prints what it has heard. Service time stands still, except where this program moves it.
 */
public final class Capacity {
  private static final String TABLE = "hot";

  private final String endpoint;
  private final StaticCredentialsProvider credentials =
      StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));

  private Capacity(String endpoint) {
    this.endpoint = endpoint;
  }

  public static void main(String[] arguments) throws Exception {
    System.out.print(Plain.json(new Capacity(arguments[0]).heard()));
  }

  private Map<String, Object> heard() throws Exception {
    var uri = URI.create(endpoint);
    var seconds = Pattern.compile("\"service_time\": ?([0-9.]+)").matcher(admin("clock/freeze", "{}"));
    seconds.find();
    var now = Instant.ofEpochSecond((long) Double.parseDouble(seconds.group(1)));
    try (var once = DynamoDbClient.builder().endpointOverride(uri).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).overrideConfiguration(c -> c.retryStrategy(r -> r.maxAttempts(1))).build();
        var patient = DynamoDbAsyncClient.builder().endpointOverride(uri).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).overrideConfiguration(c -> c.retryStrategy(r -> r.maxAttempts(20))).build();
        var metrics = CloudWatchClient.builder().endpointOverride(uri).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).build();
        var scaling = ApplicationAutoScalingClient.builder().endpointOverride(uri).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).build()) {
      var filled = fill(once);
      var refused = refusal(() -> once.putItem(p -> p.tableName(TABLE).item(item(0))));
      var coming = patient.putItem(p -> p.tableName(TABLE).item(item(0)));
      admin("clock/advance", "{\"seconds\": 10}");
      var retried = coming.get().sdkHttpResponse().statusCode();
      return Map.of("filled", filled, "refused", refused, "retried", retried,
          "measured", measured(metrics, now), "scaled", scaled(once, scaling));
    }
  }

  private String admin(String path, String body) throws IOException, InterruptedException {
    var request = HttpRequest.newBuilder(URI.create(endpoint + "/_hashrange/v1/" + path))
        .POST(HttpRequest.BodyPublishers.ofString(body)).build();
    return HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).body();
  }

  private static Map<String, AttributeValue> item(int number) {
    return Map.of("pk", AttributeValue.fromS("item-" + number));
  }

  private static List<Integer> fill(DynamoDbClient client) {
    client.createTable(t -> t.tableName(TABLE)
        .keySchema(k -> k.attributeName("pk").keyType(KeyType.HASH))
        .attributeDefinitions(a -> a.attributeName("pk").attributeType(ScalarAttributeType.S))
        .provisionedThroughput(p -> p.readCapacityUnits(1L).writeCapacityUnits(1L)));
    for (int number = 0; number < 10; number++) {
      var one = item(number);
      client.putItem(p -> p.tableName(TABLE).item(one));
    }
    for (int batch = 0;; batch++) {
      var requests = new ArrayList<WriteRequest>();
      for (int place = 0; place < 25; place++) {
        var one = item(batch * 25 + place);
        requests.add(WriteRequest.builder().putRequest(p -> p.item(one)).build());
      }
      var left = client.batchWriteItem(b -> b.requestItems(Map.of(TABLE, requests))).unprocessedItems();
      if (!left.isEmpty()) {
        return List.of(batch, left.get(TABLE).size());
      }
    }
  }

  private static List<String> refusal(Runnable work) {
    try {
      work.run();
      return List.of();
    } catch (ProvisionedThroughputExceededException error) {
      var told = new ArrayList<>(List.of(error.getClass().getSimpleName()));
      error.throttlingReasons().forEach(one -> told.add(one.reason()));
      return told;
    } catch (AwsServiceException error) {
      return List.of(error.getClass().getSimpleName());
    }
  }

  private static Map<String, Object> measured(CloudWatchClient client, Instant now) {
    var dimension = Dimension.builder().name("Shop").value("Ulm & Neu-Ulm").build();
    client.putMetricData(p -> p.namespace("shop").metricData(d -> d.metricName("Orders").dimensions(dimension)
        .timestamp(now).values(1.0, 2.0, 3.5).counts(1.0, 1.0, 2.0).unit(StandardUnit.COUNT)));
    var begin = now.minus(Duration.ofHours(1));
    var end = now.plus(Duration.ofMinutes(1));
    var point = client.getMetricStatistics(g -> g.namespace("shop").metricName("Orders").dimensions(dimension)
        .startTime(begin).endTime(end).period(7200).statistics(Statistic.SUM, Statistic.SAMPLE_COUNT)).datapoints().get(0);
    var listed = client.listMetrics(l -> l.namespace("shop")).metrics().stream()
        .map(one -> List.of(one.metricName(), one.dimensions().get(0).value())).toList();
    var throttled = client.getMetricStatistics(g -> g.namespace("AWS/DynamoDB").metricName("WriteThrottleEvents")
        .dimensions(d -> d.name("TableName").value(TABLE)).startTime(begin).endTime(end).period(7200)
        .statistics(Statistic.SUM)).datapoints().size();
    var refused = refusal(() -> client.putMetricData(p -> p.namespace("AWS/Own").metricData(d -> d.metricName("a").value(1.0))));
    return Map.of("point", List.of(point.sum(), point.sampleCount(), point.unitAsString()), "listed", listed,
        "throttled", throttled, "refused", refused);
  }

  private static Map<String, Object> scaled(DynamoDbClient tables, ApplicationAutoScalingClient client) {
    register(client, "table/" + TABLE);
    var target = client.describeScalableTargets(d -> d.serviceNamespace(ServiceNamespace.DYNAMODB)).scalableTargets().get(0);
    var units = tables.describeTable(d -> d.tableName(TABLE)).table().provisionedThroughput().readCapacityUnits();
    return Map.of("target", List.of(target.resourceId(), target.minCapacity(), target.maxCapacity()), "units", units,
        "refused", refusal(() -> register(client, "table/missing")));
  }

  private static void register(ApplicationAutoScalingClient client, String resource) {
    client.registerScalableTarget(r -> r.serviceNamespace(ServiceNamespace.DYNAMODB).resourceId(resource)
        .scalableDimension("dynamodb:table:ReadCapacityUnits").minCapacity(5).maxCapacity(9));
  }
}
