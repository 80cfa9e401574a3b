package quickstart;

import com.amazonaws.services.dynamodbv2.AcquireLockOptions;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClient;
import com.amazonaws.services.dynamodbv2.AmazonDynamoDBLockClientOptions;
import com.amazonaws.services.dynamodbv2.CreateDynamoDBTableOptions;
import com.amazonaws.services.dynamodbv2.LockItem;
import com.amazonaws.services.dynamodbv2.model.LockCurrentlyUnavailableException;
import java.net.URI;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

/** Locks of the Amazon DynamoDB Lock Client; each run reports what it saw as one line of JSON. */
public final class Main {
  private static final String TABLE = "lockTable";
  private static final DynamoDbClient DYNAMODB =
      DynamoDbClient.builder()
          .region(Region.US_EAST_1)
          .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL_DYNAMODB")))
          .build();

  private Main() {}

  public static void main(String[] arguments) throws Exception {
    if (arguments[0].equals("exclude")) {
      exclude();
    } else if (arguments[0].equals("crash")) {
      crash();
    } else {
      recover();
    }
  }

  /** Two clients ask for one lock; the second gets it once the first has released it. */
  private static void exclude() throws Exception {
    ProvisionedThroughput throughput =
        ProvisionedThroughput.builder().readCapacityUnits(5L).writeCapacityUnits(5L).build();
    AmazonDynamoDBLockClient.createLockTableInDynamoDB(
        CreateDynamoDBTableOptions.builder(DYNAMODB, throughput, TABLE).build());
    try (AmazonDynamoDBLockClient first = client("first", 10_000L, true);
        AmazonDynamoDBLockClient second = client("second", 10_000L, true)) {
      first.assertLockTableExists();
      Optional<LockItem> held = first.tryAcquireLock(AcquireLockOptions.builder("Moe").build());
      boolean isFirst = held.isPresent();
      boolean isSecond = acquiresNow(second, "Moe");
      boolean isOther = acquiresNow(second, "Larry");
      first.releaseLock(held.get());
      boolean isReleased = acquiresNow(second, "Moe");
      long locks = second.getAllLocksFromDynamoDB(true).count();
      System.out.printf(
          "{\"first\": %b, \"second\": %b, \"other\": %b, \"released\": %b, \"locks\": %d}%n",
          isFirst, isSecond, isOther, isReleased, locks);
    }
  }

  /** Take a lock and end without releasing it. */
  private static void crash() throws Exception {
    AmazonDynamoDBLockClient client = client("crashed", 1_000L, false);
    ByteBuffer data = ByteBuffer.wrap("half done".getBytes(StandardCharsets.UTF_8));
    client.acquireLock(AcquireLockOptions.builder("Curly").withData(data).build());
    System.out.println("{\"acquired\": true}");
    Runtime.getRuntime().halt(0);
  }

  /** Take the lock of the client that crashed: not at once, but once its lease has ended. */
  private static void recover() throws Exception {
    try (AmazonDynamoDBLockClient client = client("second", 1_000L, false)) {
      LockItem seen = client.getLock("Curly", Optional.empty()).get();
      String data = StandardCharsets.UTF_8.decode(seen.getData().get()).toString();
      boolean isNow = acquiresNow(client, "Curly");
      LockItem taken = client.acquireLock(AcquireLockOptions.builder("Curly").build());
      System.out.printf(
          "{\"owner\": \"%s\", \"data\": \"%s\", \"atOnce\": %b, \"newOwner\": \"%s\"}%n",
          seen.getOwnerName(), data, isNow, taken.getOwnerName());
    }
  }

  private static AmazonDynamoDBLockClient client(String owner, long leaseMillis, boolean hasHeartbeats) {
    return new AmazonDynamoDBLockClient(
        AmazonDynamoDBLockClientOptions.builder(DYNAMODB, TABLE)
            .withOwnerName(owner)
            .withTimeUnit(TimeUnit.MILLISECONDS)
            .withLeaseDuration(leaseMillis)
            .withHeartbeatPeriod(leaseMillis * 3 / 10)
            .withCreateHeartbeatBackgroundThread(hasHeartbeats)
            .build());
  }

  private static boolean acquiresNow(AmazonDynamoDBLockClient client, String key) throws Exception {
    try {
      client.acquireLock(AcquireLockOptions.builder(key).withShouldSkipBlockingWait(true).build());
      return true;
    } catch (LockCurrentlyUnavailableException refused) {
      return false;
    }
  }
}
