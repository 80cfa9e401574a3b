package kcl;

import com.amazonaws.services.dynamodbv2.streamsadapter.adapter.DynamoDBStreamsClientRecord;
import com.amazonaws.services.dynamodbv2.streamsadapter.model.DynamoDBStreamsProcessRecordsInput;
import com.amazonaws.services.dynamodbv2.streamsadapter.processor.DynamoDBStreamsShardRecordProcessor;
import java.util.stream.Collectors;
import software.amazon.awssdk.services.dynamodb.model.Record;
import software.amazon.kinesis.exceptions.InvalidStateException;
import software.amazon.kinesis.exceptions.ShutdownException;
import software.amazon.kinesis.lifecycle.events.InitializationInput;
import software.amazon.kinesis.lifecycle.events.LeaseLostInput;
import software.amazon.kinesis.lifecycle.events.ShardEndedInput;
import software.amazon.kinesis.lifecycle.events.ShutdownRequestedInput;
import software.amazon.kinesis.processor.RecordProcessorCheckpointer;

/** Says what a shard holds, batch for batch, each once it is checkpointed: the library promises no more. */
final class Reader implements DynamoDBStreamsShardRecordProcessor {
  private String shard;

  @Override
  public void initialize(InitializationInput input) {
    shard = input.shardId();
    say("\"begun\": \"" + input.extendedSequenceNumber().sequenceNumber() + "\"");
  }

  @Override
  public void processRecords(DynamoDBStreamsProcessRecordsInput input) {
    if (!input.records().isEmpty() && isCheckpointed(input.checkpointer())) {
      say("\"heard\": " + input.records().stream().map(Reader::change).collect(Collectors.joining(", ", "[", "]")));
    }
  }

  /** Kind, item, version and sequence number. */
  private static String change(DynamoDBStreamsClientRecord one) {
    Record found = one.getRecord();
    var image = found.dynamodb().hasNewImage() ? found.dynamodb().newImage() : found.dynamodb().oldImage();
    return String.format(
        "[\"%s\", \"%s\", %s, \"%s\"]",
        found.eventNameAsString(),
        found.dynamodb().keys().get("pk").s(),
        image.get("version").n(),
        found.dynamodb().sequenceNumber());
  }

  @Override
  public void leaseLost(LeaseLostInput input) {
    say("\"lost\": true");
  }

  @Override
  public void shardEnded(ShardEndedInput input) {
    // Before the checkpoint: after it, children begin, maybe before the next line here.
    say("\"ended\": true");
    isCheckpointed(input.checkpointer());
  }

  @Override
  public void shutdownRequested(ShutdownRequestedInput input) {
    isCheckpointed(input.checkpointer());
  }

  /** False when the lease was lost meanwhile: whoever has it now hears the batch again. */
  private static boolean isCheckpointed(RecordProcessorCheckpointer checkpointer) {
    try {
      checkpointer.checkpoint();
      return true;
    } catch (ShutdownException lost) {
      return false;
    } catch (InvalidStateException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  private void say(String member) {
    Main.say("{\"shard\": \"" + shard + "\", " + member + "}");
  }
}
