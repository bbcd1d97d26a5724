import java.net.URI;
import java.time.Duration;
import java.util.UUID;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.http.Protocol;
import software.amazon.awssdk.http.nio.netty.NettyNioAsyncHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.cloudwatch.CloudWatchAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.kinesis.KinesisAsyncClient;
import software.amazon.kinesis.common.ConfigsBuilder;
import software.amazon.kinesis.common.InitialPositionInStream;
import software.amazon.kinesis.common.InitialPositionInStreamExtended;
import software.amazon.kinesis.coordinator.Scheduler;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ProcessRecordsInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.metrics.MetricsLevel;
import software.amazon.kinesis.metrics.NullMetricsFactory;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;
import software.amazon.kinesis.processor.ShardRecordProcessor;
import software.amazon.kinesis.processor.SingleStreamTracker;
import software.amazon.kinesis.retrieval.polling.PollingConfig;

/**
 * A worker of the Kinesis Client Library on stand-ins: it says on standard output which shards it
 * reads, one line an event, and checkpoints what it has read.
 *
 * <p>Its settings come from the environment: KINESIS_ENDPOINT, DYNAMODB_ENDPOINT, STREAM_NAME,
 * APP_NAME, WORKER_ID, and FAILOVER_MS, which is short unless given; the cap, as a KCL user would
 * set it, is the first argument.
 */
public final class Consumer {
  private static final Region REGION = Region.US_EAST_1;
  private static final long STOP_MS = 5000;
  private static final StaticCredentialsProvider KEYS =
      StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any"));

  private Consumer() {}

  public static void main(String[] words) throws Exception {
    int maxLeases = Integer.parseInt(words[0]);
    Scheduler scheduler = scheduler(setting("WORKER_ID"), maxLeases);
    Thread running = new Thread(scheduler);
    Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(scheduler, running)));
    say("started worker=" + setting("WORKER_ID") + " max_leases=" + maxLeases);
    running.start();
    running.join();
  }

  /** Leases stay in the table under the worker's name: it finds them again when it comes back. */
  private static void stop(Scheduler scheduler, Thread running) {
    say("stopping");
    scheduler.shutdown();
    try {
      running.join(STOP_MS);
    } catch (InterruptedException error) {
      say("not waited for " + error);
    }
  }

  private static Scheduler scheduler(String worker, int maxLeases) {
    InitialPositionInStreamExtended start =
        InitialPositionInStreamExtended.newInitialPosition(InitialPositionInStream.TRIM_HORIZON);
    String stream = setting("STREAM_NAME");
    KinesisAsyncClient kinesis =
        KinesisAsyncClient.builder()
            .region(REGION)
            .credentialsProvider(KEYS)
            .endpointOverride(URI.create(setting("KINESIS_ENDPOINT")))
            .httpClientBuilder(NettyNioAsyncHttpClient.builder().protocol(Protocol.HTTP1_1))
            .build();
    ConfigsBuilder configs =
        new ConfigsBuilder(
            new SingleStreamTracker(stream, start),
            setting("APP_NAME"),
            kinesis,
            dynamodb(),
            CloudWatchAsyncClient.builder().region(REGION).credentialsProvider(KEYS).build(),
            worker,
            Processor::new);
    return new Scheduler(
        configs.checkpointConfig(),
        configs.coordinatorConfig()
            .parentShardPollIntervalMillis(500)
            .shardConsumerDispatchPollIntervalMillis(200)
            .schedulerInitializationBackoffTimeMillis(200),
        configs.leaseManagementConfig()
            .maxLeasesForWorker(maxLeases)
            .failoverTimeMillis(Long.parseLong(settingOr("FAILOVER_MS", "2000")))
            .shardSyncIntervalMillis(1000)
            .leasesRecoveryAuditorExecutionFrequencyMillis(1000),
        configs.lifecycleConfig(),
        configs.metricsConfig().metricsFactory(new NullMetricsFactory()).metricsLevel(MetricsLevel.NONE),
        configs.processorConfig(),
        configs.retrievalConfig()
            .retrievalSpecificConfig(
                new PollingConfig(stream, kinesis).idleTimeBetweenReadsInMillis(200)));
  }

  private static DynamoDbAsyncClient dynamodb() {
    return DynamoDbAsyncClient.builder()
        .region(REGION)
        .credentialsProvider(KEYS)
        .endpointOverride(URI.create(setting("DYNAMODB_ENDPOINT")))
        .httpClientBuilder(NettyNioAsyncHttpClient.builder().connectionTimeout(Duration.ofSeconds(30)))
        .build();
  }

  private static String setting(String name) {
    String value = settingOr(name, "");
    if (value.isEmpty()) {
      throw new IllegalArgumentException(name + " is not set");
    }
    return value;
  }

  private static String settingOr(String name, String otherwise) {
    String value = System.getenv(name);
    return value == null || value.isEmpty() ? otherwise : value;
  }

  private static synchronized void say(String line) {
    System.out.println(line);
    System.out.flush();
  }

  private static final class Processor implements ShardRecordProcessor {
    private String shard = "shard-" + UUID.randomUUID();

    @Override
    public void initialize(InitializationInput input) {
      shard = input.shardId();
      say("reading shard=" + shard);
    }

    @Override
    public void processRecords(ProcessRecordsInput input) {
      if (!input.records().isEmpty()) {
        say("records shard=" + shard + " count=" + input.records().size());
        checkpoint(input.checkpointer());
      }
    }

    @Override
    public void leaseLost(LeaseLostInput input) {
      say("lost shard=" + shard);
    }

    @Override
    public void shardEnded(ShardEndedInput input) {
      say("ended shard=" + shard);
      checkpoint(input.checkpointer());
    }

    @Override
    public void shutdownRequested(ShutdownRequestedInput input) {
      say("released shard=" + shard);
      checkpoint(input.checkpointer());
    }

    private void checkpoint(RecordProcessorCheckpointer checkpointer) {
      try {
        checkpointer.checkpoint();
      } catch (Exception error) {
        say("not checkpointed shard=" + shard + " " + error);
      }
    }
  }
}
