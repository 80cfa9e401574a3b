package kcl;

import com.amazonaws.services.dynamodbv2.streamsadapter.AmazonDynamoDBStreamsAdapterClient;
import com.amazonaws.services.dynamodbv2.streamsadapter.StreamsSchedulerFactory;
import com.amazonaws.services.dynamodbv2.streamsadapter.polling.DynamoDBStreamsPollingConfig;
import java.net.URI;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.streams.DynamoDbStreamsClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.leases.LeaseManagementConfig;
import software.amazon.kinesis.metrics.MetricsLevel;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.StreamTracker;
import software.amazon.kinesis.retrieval.RetrievalConfig;

/** One worker of the application `reader`, whose leases, checkpoints and leadership are tables of the same server. */
final class Worker {
  private static final Region REGION = Region.EU_WEST_1;
  private static final InitialPositionInStreamExtended OLDEST =
      InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
  private static final long LOOK_MILLISECONDS = 100;
  private static final long LEASE_MILLISECONDS = 3_000;
  private static final long REPORT_MILLISECONDS = 1_000;
  private static final long TABLE_SECONDS = 30;

  private final StreamTracker streams;
  private final ConfigsBuilder configs;
  private final RetrievalConfig retrieval;
  private final LeaseManagementConfig leases;
  private final Scheduler scheduler;
  private Thread thread;

  Worker(URI endpoint, String streamArn, String name) {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    var database = DynamoDbAsyncClient.builder()
        .endpointOverride(endpoint).region(REGION).credentialsProvider(credentials).build();
    var streamsClient = DynamoDbStreamsClient.builder()
        .endpointOverride(endpoint).region(REGION).credentialsProvider(credentials).build();
    // Asked for, and never called: metrics are off. If it were, the server would refuse it.
    var metrics = CloudWatchAsyncClient.builder()
        .endpointOverride(endpoint).region(REGION).credentialsProvider(credentials).build();
    var adapter = new AmazonDynamoDBStreamsAdapterClient(streamsClient, REGION);
    streams = StreamsSchedulerFactory.createSingleStreamTracker(streamArn, OLDEST);
    configs = new ConfigsBuilder(streams, "reader", adapter, database, metrics, name, Reader::new);
    var polling = new DynamoDBStreamsPollingConfig(adapter).idleTimeBetweenReadsInMillis(LOOK_MILLISECONDS);
    retrieval = configs.retrievalConfig().retrievalSpecificConfig(polling);
    leases = configs.leaseManagementConfig()
        .failoverTimeMillis(LEASE_MILLISECONDS)
        .shardSyncIntervalMillis(0)
        .leaseAssignmentIntervalMillis(LOOK_MILLISECONDS);
    // How busy the machine is would be asked of EC2 or ECS. What is reported is that the worker is there; as long as two
    // reports may be missing, leases are assigned to one that has stopped.
    leases.workerUtilizationAwareAssignmentConfig()
        .disableWorkerMetrics(true)
        .inMemoryWorkerMetricsCaptureFrequencyMillis(LOOK_MILLISECONDS)
        .workerMetricsReporterFreqInMillis(REPORT_MILLISECONDS);
    scheduler = StreamsSchedulerFactory.createScheduler(
        configs.checkpointConfig(),
        configs.coordinatorConfig()
            .parentShardPollIntervalMillis(LOOK_MILLISECONDS)
            .shardConsumerDispatchPollIntervalMillis(LOOK_MILLISECONDS)
            .skipShardSyncAtWorkerInitializationIfLeasesExist(true),
        leases,
        configs.lifecycleConfig(),
        configs.metricsConfig().metricsLevel(MetricsLevel.NONE).metricsFactory(new NullMetricsFactory()),
        configs.processorConfig(),
        retrieval,
        adapter);
  }

  void start() throws Exception {
    makeFirstLeases();
    thread = new Thread(scheduler, "scheduler");
    thread.start();
  }

  /**
   * With the library's own means: a scheduler that finds no leases waits up to 30 seconds, by chance, whether another one
   * makes them.
   */
  private void makeFirstLeases() throws Exception {
    var factory = leases.leaseManagementFactory();
    var table = factory.createLeaseRefresher();
    table.createLeaseTableIfNotExists();
    table.waitUntilLeaseTableExists(1, TABLE_SECONDS);
    table.createLeaseOwnerToLeaseKeyIndexIfNotExists();
    table.waitUntilLeaseOwnerToLeaseKeyIndexExists(1, TABLE_SECONDS);
    if (table.isLeaseTableEmpty()) {
      var stream = streams.streamConfigList().get(0);
      var made = factory.createShardSyncTaskManager(new NullMetricsFactory(), stream, null).callShardSyncTask();
      if (made.getException() != null) {
        throw made.getException();
      }
    }
  }

  /**
   * Wherever it is; another one goes on from its checkpoints. (The graceful way waits for ever when a shard ends meanwhile.)
   */
  void stop() throws Exception {
    scheduler.shutdown();
    thread.join();
  }
}
