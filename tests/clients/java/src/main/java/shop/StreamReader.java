package shop;

import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.DescribeStreamResponse;
import software.amazon.awssdk.services.dynamodb.model.GetRecordsResponse;
import software.amazon.awssdk.services.dynamodb.model.Record;
import software.amazon.awssdk.services.dynamodb.model.Shard;
import software.amazon.awssdk.services.dynamodb.model.ShardIteratorType;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;

/**
 * A stream read with the client for streams: every shard behind its parent, from the oldest record to the newest.
 *
 * <p>Arguments: endpoint and table. Prints what boto3_stream.py returns: of each shard its name, whether it was read to an end
 * that it has, and its records.
 */
public final class StreamReader {
  private static final int PAGE_SIZE = 30;

  private final DynamoDbStreamsClient client;
  private final String stream;

  private StreamReader(DynamoDbStreamsClient client, String table) {
    this.client = client;
    stream = client.listStreams(request -> request.tableName(table)).streams().get(0).streamArn();
  }

  public static void main(String[] arguments) {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    try (var client = DynamoDbStreamsClient.builder()
        .endpointOverride(URI.create(arguments[0]))
        .region(Region.EU_WEST_1)
        .credentialsProvider(credentials)
        .build()) {
      var reader = new StreamReader(client, arguments[1]);
      var told = new ArrayList<>();
      parentsFirst(reader.shards()).forEach(shard -> told.add(reader.read(shard.shardId())));
      System.out.print(Plain.json(told));
    }
  }

  private List<Shard> shards() {
    var found = new ArrayList<Shard>();
    String start = null;
    do {
      String after = start;
      DescribeStreamResponse page =
          client.describeStream(request -> request.streamArn(stream).limit(2).exclusiveStartShardId(after));
      found.addAll(page.streamDescription().shards());
      start = page.streamDescription().lastEvaluatedShardId();
    } while (start != null);
    return found;
  }

  /** In the order of the stream, except that a child waits for its parent. */
  private static List<Shard> parentsFirst(List<Shard> shards) {
    var ordered = new ArrayList<Shard>();
    for (List<Shard> waiting = shards; !waiting.isEmpty(); ) {
      var names = waiting.stream().map(Shard::shardId).collect(Collectors.toSet());
      var parts = waiting.stream().collect(Collectors.partitioningBy(one -> names.contains(one.parentShardId())));
      ordered.addAll(parts.get(false));
      waiting = parts.get(true);
    }
    return ordered;
  }

  /** A page, and the rest as one who begins anew behind it. */
  private Map<String, Object> read(String shard) {
    GetRecordsResponse page = page(iterator(shard, ShardIteratorType.TRIM_HORIZON, null));
    var records = new ArrayList<>(page.records());
    if (!records.isEmpty()) {
      String last = records.get(records.size() - 1).dynamodb().sequenceNumber();
      page = page(iterator(shard, ShardIteratorType.AFTER_SEQUENCE_NUMBER, last));
      records.addAll(page.records());
    }
    while (page.nextShardIterator() != null && !page.records().isEmpty()) {
      page = page(page.nextShardIterator());
      records.addAll(page.records());
    }
    return Map.of(
        "shard", shard,
        "ended", page.nextShardIterator() == null,
        "records", records.stream().map(StreamReader::told).toList());
  }

  private String iterator(String shard, ShardIteratorType type, String sequence) {
    return client
        .getShardIterator(request ->
            request.streamArn(stream).shardId(shard).shardIteratorType(type).sequenceNumber(sequence))
        .shardIterator();
  }

  private GetRecordsResponse page(String iterator) {
    return client.getRecords(request -> request.shardIterator(iterator).limit(PAGE_SIZE));
  }

  /** Times in milliseconds, bytes in Base64. */
  private static Map<String, Object> told(Record found) {
    var change = new TreeMap<String, Object>(Map.of(
        "ApproximateCreationDateTime", found.dynamodb().approximateCreationDateTime().toEpochMilli(),
        "Keys", told(found.dynamodb().keys()),
        "SequenceNumber", found.dynamodb().sequenceNumber(),
        "SizeBytes", found.dynamodb().sizeBytes(),
        "StreamViewType", found.dynamodb().streamViewTypeAsString()));
    if (found.dynamodb().hasNewImage()) {
      change.put("NewImage", told(found.dynamodb().newImage()));
    }
    if (found.dynamodb().hasOldImage()) {
      change.put("OldImage", told(found.dynamodb().oldImage()));
    }
    return Map.of(
        "eventID", found.eventID(),
        "eventName", found.eventNameAsString(),
        "eventVersion", found.eventVersion(),
        "eventSource", found.eventSource(),
        "awsRegion", found.awsRegion(),
        "dynamodb", change);
  }

  private static Map<String, Object> told(Map<String, AttributeValue> item) {
    var found = new TreeMap<String, Object>();
    item.forEach((name, value) -> found.put(name, told(value)));
    return found;
  }

  private static Map<String, Object> told(AttributeValue value) {
    return switch (value.type()) {
      case S -> Map.of("S", value.s());
      case N -> Map.of("N", value.n());
      case B -> Map.of("B", Base64.getEncoder().encodeToString(value.b().asByteArray()));
      case SS -> Map.of("SS", value.ss());
      case L -> Map.of("L", value.l().stream().map(StreamReader::told).toList());
      case M -> Map.of("M", told(value.m()));
      case BOOL -> Map.of("BOOL", value.bool());
      case NUL -> Map.of("NULL", value.nul());
      default -> throw new IllegalArgumentException(value.toString());
    };
  }
}
