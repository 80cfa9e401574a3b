package quickstart;

import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockAssert;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.dynamodb2.DynamoDBLockProvider;
import net.javacrumbs.shedlock.provider.dynamodb2.DynamoDBUtils;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ProvisionedThroughput;

/** Tasks that ShedLock runs at most once at a time; each run reports which tasks it ran, as one line of JSON. */
public final class Main {
  private static final String TABLE = "Shedlock";
  private static final DynamoDbClient DYNAMODB =
      DynamoDbClient.builder()
          .endpointOverride(URI.create(System.getenv("AWS_ENDPOINT_URL_DYNAMODB")))
          .build();
  private static final LockProvider LOCKS = new DynamoDBLockProvider(DYNAMODB, TABLE);
  private static final LockingTaskExecutor EXECUTOR = new DefaultLockingTaskExecutor(LOCKS);
  private static final List<String> RAN = new ArrayList<>();

  private Main() {}

  public static void main(String[] arguments) {
    if (arguments[0].equals("first")) {
      first();
    } else {
      List.of("report", "hourly", "held", "expired").forEach(task -> run(task, Duration.ZERO, () -> {}));
    }
    System.out.println("[\"" + String.join("\", \"", RAN) + "\"]");
    DYNAMODB.close();
  }

  private static void first() {
    ProvisionedThroughput throughput =
        ProvisionedThroughput.builder().readCapacityUnits(1L).writeCapacityUnits(1L).build();
    DynamoDBUtils.createLockTable(DYNAMODB, TABLE, throughput);
    // While a task runs, another node skips it, but not other tasks; afterwards it runs again.
    run("report", Duration.ZERO, () -> {
      LockAssert.assertLocked();
      LockProvider otherNode = new DynamoDBLockProvider(DYNAMODB, TABLE);
      RAN.add(otherNode.lock(configuration("report", Duration.ZERO)).isEmpty() ? "skipped" : "ran twice");
      otherNode.lock(configuration("other", Duration.ZERO)).orElseThrow().unlock();
    });
    run("report", Duration.ZERO, () -> {});
    // A task that is locked for an hour at least, and two locks that the process never releases.
    run("hourly", Duration.ofHours(1), () -> {});
    LOCKS.lock(configuration("held", Duration.ZERO)).orElseThrow();
    Instant twoHoursAgo = Instant.now().minus(Duration.ofHours(2));
    LOCKS.lock(new LockConfiguration(twoHoursAgo, "expired", Duration.ofHours(1), Duration.ZERO)).orElseThrow();
  }

  private static void run(String task, Duration atLeast, Runnable work) {
    EXECUTOR.executeWithLock(
        (Runnable) () -> {
          RAN.add(task);
          work.run();
        },
        configuration(task, atLeast));
  }

  private static LockConfiguration configuration(String task, Duration atLeast) {
    return new LockConfiguration(Instant.now(), task, Duration.ofHours(1), atLeast);
  }
}
