package shop;

import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.StreamViewType;
import software.amazon.awssdk.services.lambda.LambdaClient;
import software.amazon.awssdk.services.lambda.model.EventSourcePosition;
import software.amazon.awssdk.services.lambda.model.GetEventSourceMappingResponse;
import software.amazon.awssdk.services.lambda.model.InvokeResponse;
import software.amazon.awssdk.services.lambda.model.LambdaException;

/**
 * A function from its creation to its deletion, and in between an event source mapping.
 *
 * <p>Arguments: endpoint, path of a zip, runtime. Prints what it has heard.
 */
public final class Functions {
  private static final String NAME = "count-records";
  private static final String TABLE = "events";

  private final LambdaClient functions;
  private final DynamoDbClient tables;

  private Functions(LambdaClient functions, DynamoDbClient tables) {
    this.functions = functions;
    this.tables = tables;
  }

  public static void main(String[] arguments) throws IOException {
    var endpoint = URI.create(arguments[0]);
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    try (var functions = LambdaClient.builder()
            .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
        var tables = DynamoDbClient.builder()
            .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build()) {
      var told = new Functions(functions, tables);
      System.out.print(Plain.json(Map.of(
          "created", told.create(Path.of(arguments[1]), arguments[2]),
          "invoked", List.of(told.invoke("{\"Records\": [1, 2]}"), told.invoke("{}")),
          "mapped", told.map(),
          "deleted", told.delete())));
    }
  }

  private Map<String, Object> create(Path zip, String runtime) throws IOException {
    var zipped = SdkBytes.fromByteArray(Files.readAllBytes(zip));
    var made = functions.createFunction(request -> request
        .functionName(NAME)
        .runtime(runtime)
        .role("arn:aws:iam::000000000000:role/events")
        .handler("app.handler")
        .code(code -> code.zipFile(zipped))
        .environment(environment -> environment.variables(Map.of("STAGE", "test")))
        .tags(Map.of("team", "events")));
    var active = functions.waiter().waitUntilFunctionActiveV2(request -> request.functionName(NAME));
    var configuration = active.matched().response().orElseThrow().configuration();
    return Map.of(
        "arn", made.functionArn(),
        "states", List.of(made.stateAsString(), configuration.stateAsString()),
        "variables", configuration.environment().variables(),
        "tags", functions.listTags(request -> request.resource(made.functionArn())).tags());
  }

  private List<Object> invoke(String payload) {
    InvokeResponse reply =
        functions.invoke(request -> request.functionName(NAME).payload(SdkBytes.fromUtf8String(payload)));
    String error = reply.functionError() == null ? "" : reply.functionError();
    return List.of(reply.statusCode(), error, reply.executedVersion(), reply.payload().asUtf8String());
  }

  /** States and results of a mapping, which delivers a record in between. */
  private List<String> map() {
    var table = tables.createTable(request -> request
        .tableName(TABLE)
        .billingMode(BillingMode.PAY_PER_REQUEST)
        .attributeDefinitions(one -> one.attributeName("id").attributeType(ScalarAttributeType.S))
        .keySchema(one -> one.attributeName("id").keyType(KeyType.HASH))
        .streamSpecification(one -> one.streamEnabled(true).streamViewType(StreamViewType.NEW_IMAGE)));
    var made = functions.createEventSourceMapping(request -> request
        .functionName(NAME)
        .eventSourceArn(table.tableDescription().latestStreamArn())
        .startingPosition(EventSourcePosition.TRIM_HORIZON)
        .filterCriteria(criteria -> criteria.filters(one -> one.pattern("{\"eventName\": [\"INSERT\"]}"))));
    tables.putItem(request -> request.tableName(TABLE).item(Map.of("id", AttributeValue.fromS("1"))));
    GetEventSourceMappingResponse found;
    do {
      found = functions.getEventSourceMapping(request -> request.uuid(made.uuid()));
    } while (!found.lastProcessingResult().equals("OK"));
    var deleted = functions.deleteEventSourceMapping(request -> request.uuid(made.uuid()));
    return List.of(made.state(), made.lastProcessingResult(), found.state(), deleted.state());
  }

  /** The name of the error when the function is looked for after its deletion, and the message. */
  private List<String> delete() {
    functions.deleteFunction(request -> request.functionName(NAME));
    try {
      functions.getFunction(request -> request.functionName(NAME));
      return List.of();
    } catch (LambdaException error) {
      return List.of(error.getClass().getSimpleName(), error.awsErrorDetails().errorMessage());
    }
  }
}
