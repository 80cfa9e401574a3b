package shop;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.zip.GZIPInputStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.waiters.WaiterOverrideConfiguration;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.retries.api.BackoffStrategy;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BackupStatus;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.BulkOperationInputFormat;
import software.amazon.awssdk.services.dynamodb.model.ExportDescription;
import software.amazon.awssdk.services.dynamodb.model.ExportFormat;
import software.amazon.awssdk.services.dynamodb.model.InputCompressionType;
import software.amazon.awssdk.services.dynamodb.model.InputFormat;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.OutputTypeEnum;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;
import software.amazon.awssdk.services.dynamodb.waiters.DynamoDbWaiter;

/**
 * Backups, recovery, an export, imports and a bulk put, and S3 with its helpers ({@link Objects}).
 *
 * <p>Arguments: endpoint, bucket. Prints what it has heard. Service time stands still, except where this program moves it.
 */
public final class Backups {
  private static final String TABLE = "orders";
  private static final KeySchemaElement KEY = KeySchemaElement.builder().attributeName("id").keyType(KeyType.HASH).build();
  private static final AttributeDefinition ID =
      AttributeDefinition.builder().attributeName("id").attributeType(ScalarAttributeType.S).build();
  private static final Consumer<WaiterOverrideConfiguration.Builder> OFTEN = waiting -> waiting
      .maxAttempts(600).backoffStrategyV2(BackoffStrategy.fixedDelayWithoutJitter(Duration.ofMillis(50)));

  private final String endpoint;
  private final String bucket;
  private final DynamoDbClient client;
  private final DynamoDbWaiter waiter;
  private final Objects objects;

  private Backups(String endpoint, String bucket, DynamoDbClient client, Objects objects) {
    this.endpoint = endpoint;
    this.bucket = bucket;
    this.client = client;
    this.waiter = client.waiter();
    this.objects = objects;
  }

  public static void main(String[] arguments) throws Exception {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    var endpoint = URI.create(arguments[0]);
    try (var client = DynamoDbClient.builder().endpointOverride(endpoint).region(Region.EU_WEST_1)
            .credentialsProvider(credentials).build();
        var objects = new Objects(endpoint, credentials, arguments[1])) {
      System.out.print(Plain.json(new Backups(arguments[0], arguments[1], client, objects).heard()));
    }
  }

  private Map<String, Object> heard() throws Exception {
    objects.makeBucket();
    makeTable();
    var heard = new TreeMap<String, Object>();
    heard.put("backup", backup());
    heard.put("recovery", recovery());
    heard.put("imported", imported(exported(heard)));
    heard.put("bulk", bulk());
    heard.put("objects", objects.use());
    return heard;
  }

  static String refusal(Runnable work) {
    try {
      work.run();
      return null;
    } catch (AwsServiceException error) {
      return error.getClass().getSimpleName();
    }
  }

  private void advance(int seconds) throws IOException, InterruptedException {
    var body = HttpRequest.BodyPublishers.ofString("{\"seconds\": " + seconds + "}");
    var request = HttpRequest.newBuilder(URI.create(endpoint + "/_hashrange/v1/clock/advance")).POST(body).build();
    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
  }

  /** All items of a table in the order of their ids. */
  private List<Map<String, Object>> items(String table) {
    return client.scanPaginator(s -> s.tableName(table).limit(2)).items().stream().map(Plain::of)
        .sorted(Comparator.comparing(item -> (String) item.get("id"))).toList();
  }

  private static Map<String, AttributeValue> item(String id, int number) {
    return Map.of("id", AttributeValue.fromS(id), "n", AttributeValue.fromN("" + number));
  }

  private void makeTable() {
    client.createTable(t -> t.tableName(TABLE).keySchema(KEY).attributeDefinitions(ID).billingMode(BillingMode.PAY_PER_REQUEST));
    waiter.waitUntilTableExists(t -> t.tableName(TABLE), OFTEN);
    var first = new TreeMap<>(item("a", 1));
    first.put("note", AttributeValue.fromS("Zürich ☕"));
    first.put("tags", AttributeValue.fromSs(List.of("x", "y")));
    var second = new TreeMap<>(item("b", 2));
    second.put("data", AttributeValue.fromB(SdkBytes.fromByteArray(new byte[] {0, (byte) 255})));
    var requests = new ArrayList<WriteRequest>();
    for (var one : List.of(first, second, item("c", 3))) {
      requests.add(WriteRequest.builder().putRequest(p -> p.item(one)).build());
    }
    client.batchWriteItem(b -> b.requestItems(Map.of(TABLE, requests)));
  }

  private Map<String, Object> backup() {
    var arn = client.createBackup(b -> b.tableName(TABLE).backupName("before")).backupDetails().backupArn();
    BackupStatus status;
    do {
      status = client.describeBackup(b -> b.backupArn(arn)).backupDescription().backupDetails().backupStatus();
    } while (status == BackupStatus.CREATING);
    var listed = client.listBackups(l -> l.tableName(TABLE)).backupSummaries().stream()
        .map(one -> List.of(one.backupName(), one.backupTypeAsString())).toList();
    client.updateItem(u -> u.tableName(TABLE).key(Map.of("id", AttributeValue.fromS("a")))
        .updateExpression("ADD n :nine").expressionAttributeValues(Map.of(":nine", AttributeValue.fromN("9"))));
    client.deleteItem(d -> d.tableName(TABLE).key(Map.of("id", AttributeValue.fromS("b"))));
    client.putItem(p -> p.tableName(TABLE).item(item("d", 4)));
    var summary = client.restoreTableFromBackup(r -> r.targetTableName("from-backup").backupArn(arn))
        .tableDescription().restoreSummary();
    waiter.waitUntilTableExists(t -> t.tableName("from-backup"), OFTEN);
    var items = items("from-backup");
    var deleted = client.deleteBackup(d -> d.backupArn(arn)).backupDescription().backupDetails().backupStatusAsString();
    return Map.of("status", status.toString(), "listed", listed, "isSource", summary.sourceBackupArn().equals(arn),
        "items", items, "deleted", deleted, "refused", refusal(() -> client.describeBackup(b -> b.backupArn(arn))));
  }

  private Map<String, Object> recovery() throws IOException, InterruptedException {
    client.updateContinuousBackups(u -> u.tableName(TABLE)
        .pointInTimeRecoverySpecification(p -> p.pointInTimeRecoveryEnabled(true).recoveryPeriodInDays(7)));
    advance(10);
    var window = client.describeContinuousBackups(d -> d.tableName(TABLE))
        .continuousBackupsDescription().pointInTimeRecoveryDescription();
    advance(10);
    client.deleteItem(d -> d.tableName(TABLE).key(Map.of("id", AttributeValue.fromS("c"))));
    client.putItem(p -> p.tableName(TABLE).item(item("e", 5)));
    restore("at-time", window.latestRestorableDateTime());
    waiter.waitUntilTableExists(t -> t.tableName("at-time"), OFTEN);
    var early = window.earliestRestorableDateTime().minus(Duration.ofHours(1));
    return Map.of("window", List.of(window.pointInTimeRecoveryStatusAsString(), window.recoveryPeriodInDays()),
        "items", items("at-time"), "refused", refusal(() -> restore("too-early", early)));
  }

  private void restore(String target, Instant at) {
    client.restoreTableToPointInTime(r -> r.sourceTableName(TABLE).targetTableName(target).restoreDateTime(at));
  }

  /** Returns the key below which the data files are. */
  private String exported(Map<String, Object> heard) throws IOException, NoSuchAlgorithmException {
    var table = client.describeTable(d -> d.tableName(TABLE)).table().tableArn();
    var arn = client.exportTableToPointInTime(e -> e.tableArn(table).s3Bucket(bucket).s3Prefix("nightly").clientToken("one")
        .exportFormat(ExportFormat.DYNAMODB_JSON)).exportDescription().exportArn();
    ExportDescription told = waiter.waitUntilExportCompleted(d -> d.exportArn(arn), OFTEN)
        .matched().response().orElseThrow().exportDescription();
    var summary = JsonNode.parser().parse(objects.text(told.exportManifest())).asObject();
    var ids = new ArrayList<String>();
    boolean isSound = true;
    for (var line : objects.text(summary.get("manifestFilesS3Key").asString()).strip().split("\n")) {
      var file = JsonNode.parser().parse(line).asObject();
      var content = objects.read(file.get("dataFileS3Key").asString());
      var digest = MessageDigest.getInstance("MD5").digest(content);
      isSound &= Base64.getEncoder().encodeToString(digest).equals(file.get("md5Checksum").asString());
      unpacked(content).lines().forEach(one -> ids.add(JsonNode.parser().parse(one).asObject().get("Item").asObject()
          .get("id").asObject().get("S").asString()));
    }
    ids.sort(null);
    var listed = client.listExportsPaginator(l -> l.maxResults(1)).stream()
        .flatMap(page -> page.exportSummaries().stream()).map(one -> one.exportStatusAsString()).toList();
    heard.put("exported", Map.of("status", told.exportStatusAsString(), "count", told.itemCount(),
        "summed", Integer.parseInt(summary.get("itemCount").asNumber()), "ids", ids, "isSound", isSound, "listed", listed));
    return told.exportManifest().replace("manifest-summary.json", "data/");
  }

  private static String unpacked(byte[] content) throws IOException {
    try (var opened = new GZIPInputStream(new ByteArrayInputStream(content))) {
      return new String(opened.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  private Map<String, Object> imported(String prefix) {
    var arn = beginImport("copy", bucket, prefix);
    var told = waiter.waitUntilImportCompleted(d -> d.importArn(arn), OFTEN)
        .matched().response().orElseThrow().importTableDescription();
    var failing = beginImport("nothing", "no-such-bucket", prefix);
    String failed;
    try {
      waiter.waitUntilImportCompleted(d -> d.importArn(failing), OFTEN);
      failed = null;
    } catch (RuntimeException error) {
      failed = client.describeImport(d -> d.importArn(failing)).importTableDescription().failureCode();
    }
    var listed = client.listImportsPaginator(l -> l.pageSize(1)).stream()
        .flatMap(page -> page.importSummaryList().stream()).map(one -> one.importStatusAsString()).sorted().toList();
    return Map.of("status", told.importStatusAsString(),
        "counts", List.of(told.processedItemCount(), told.importedItemCount(), told.errorCount()),
        "items", items("copy"), "failed", failed, "listed", listed);
  }

  private String beginImport(String table, String from, String prefix) {
    return client.importTable(i -> i.s3BucketSource(s -> s.s3Bucket(from).s3KeyPrefix(prefix))
        .inputFormat(InputFormat.DYNAMODB_JSON).inputCompressionType(InputCompressionType.GZIP)
        .tableCreationParameters(t -> t.tableName(table).keySchema(KEY).attributeDefinitions(ID)
            .billingMode(BillingMode.PAY_PER_REQUEST))).importTableDescription().importArn();
  }

  private Map<String, Object> bulk() throws IOException {
    objects.write("bulk/1.json", """
        {"Item": {"id": {"S": "f"}, "n": {"N": "6"}}}
        {"Item": {"id": {"S": "a"}}, "ConditionExpression": "attribute_not_exists(id)"}
        {"Item": {"n": {"N": "7"}}}
        """);
    var arn = client.startBulkPutItems(b -> b.tableName(TABLE)
        .inputS3Configuration(i -> i.s3Bucket(bucket).s3KeyPrefix("bulk/").inputFormat(BulkOperationInputFormat.DYNAMODB_JSON))
        .outputS3Configuration(o -> o.s3Bucket(bucket).s3KeyPrefix("reports")
            .outputType(OutputTypeEnum.ERROR, OutputTypeEnum.CONDITION_CHECK_FAILURE))).bulkOperationDescription().bulkOperationArn();
    var told = waiter.waitUntilBulkOperationCompleted(d -> d.bulkOperationArn(arn), OFTEN)
        .matched().response().orElseThrow().bulkOperationDescription();
    var reported = new TreeMap<String, Object>();
    for (var key : objects.keys("reports/")) {
      var kind = key.contains("/error/") ? "error" : "condition-check-failure";
      var line = JsonNode.parser().parse(unpacked(objects.read(key))).asObject().get("Line").asNumber();
      reported.put(kind, Integer.parseInt(line));
    }
    return Map.of("status", told.bulkOperationStatusAsString(),
        "counts", List.of(told.processedItemCount(), told.failedItemCount()), "reported", reported, "items", items(TABLE));
  }
}
