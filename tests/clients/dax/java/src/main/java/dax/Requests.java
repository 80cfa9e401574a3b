package dax;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.awscore.exception.AwsServiceException;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.core.SdkField;
import software.amazon.awssdk.core.SdkPojo;
import software.amazon.awssdk.core.client.config.ClientOverrideConfiguration;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.core.protocol.MarshallingType;
import software.amazon.awssdk.core.retry.RetryPolicy;
import software.amazon.awssdk.core.traits.ListTrait;
import software.amazon.awssdk.core.traits.MapTrait;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.utils.builder.Buildable;
import software.amazon.dax.ClusterDaxAsyncClient;
import software.amazon.dax.ClusterDaxClient;
import software.amazon.dax.Configuration;

/**
 * The requests of a file through DAX and directly; prints what each heard, as JSON.
 *
 * <p>Arguments: the endpoint of DynamoDB, that of DAX, which clients, blocking or async, and the file.
 */
public final class Requests {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String MODEL = "software.amazon.awssdk.services.dynamodb.model.";

  public static void main(String[] arguments) throws Exception {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("AKIDEXAMPLE", "secret"));
    var endpoint = URI.create(arguments[0]);
    var configuration = Configuration.builder().region(Region.EU_WEST_1).credentialsProvider(credentials).url(arguments[1]).build();
    var once = ClientOverrideConfiguration.builder().retryPolicy(RetryPolicy.none()).build();
    var blocking = DynamoDbClient.builder().overrideConfiguration(once)
        .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
    var async = DynamoDbAsyncClient.builder().overrideConfiguration(once)
        .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
    boolean isBlocking = arguments[2].equals("blocking");
    Object through = isBlocking
        ? ClusterDaxClient.builder().overrideConfiguration(configuration).build()
        : ClusterDaxAsyncClient.builder().overrideConfiguration(configuration).build();
    var told = JSON.createObjectNode();
    for (var side : List.of("through", "direct")) {
      var asked = JSON.readTree(Files.readString(Path.of(arguments[3])).replace("SIDE", side).replace("LONG", "x".repeat(300_000)));
      for (var table : asked.get("tables")) {
        send(blocking, "CreateTable", table, null);
      }
      var client = side.equals("through") ? through : isBlocking ? blocking : async;
      var found = JSON.createArrayNode();
      for (var step : asked.get("steps")) {
        found.add(step.path("except").has("java") ? null : heard(client, step));
      }
      told.set(side, JSON.readTree(found.toString().replace(side + ".", "SIDE.")));
    }
    new PrintStream(System.out, true, StandardCharsets.UTF_8).println(told);
    System.exit(0);
  }

  /** The reply to a step, that of each page, or the error. */
  private static JsonNode heard(Object client, JsonNode step) throws Exception {
    ArrayNode found = JSON.createArrayNode();
    Object start = null;
    try {
      do {
        var reply = (SdkPojo) send(client, step.get("call").asText(), step.get("request"), start);
        found.add(JSON.valueToTree(plain(reply)));
        start = step.has("pages") ? member(reply, "LastEvaluatedKey") : null;
      } while (start instanceof Map<?, ?> key && !key.isEmpty());
      return found;
    } catch (AwsServiceException error) {
      var told = JSON.createObjectNode();
      told.put("code", error.awsErrorDetails().errorCode());
      told.put("message", error.awsErrorDetails().errorMessage());
      if (error instanceof TransactionCanceledException cancelled) {
        told.set("reasons", JSON.valueToTree(plain(cancelled.cancellationReasons())));
      }
      return told;
    } catch (SdkException error) {
      return JSON.createObjectNode().put("code", error.getClass().getSimpleName()).put("message", error.getMessage());
    }
  }

  /** Sends a request by the client's method for it. `start`: its ExclusiveStartKey, or null. */
  private static Object send(Object client, String call, JsonNode request, Object start) throws Exception {
    var kind = Class.forName(MODEL + call + "Request");
    var builder = (SdkPojo) kind.getMethod("builder").invoke(null);
    read(builder, request);
    if (start != null) {
      builder.sdkFields().stream().filter(f -> f.locationName().equals("ExclusiveStartKey")).forEach(f -> f.set(builder, start));
    }
    var method = client.getClass().getMethod(call.substring(0, 1).toLowerCase() + call.substring(1), kind);
    method.setAccessible(true);
    try {
      var reply = method.invoke(client, ((Buildable) builder).build());
      return reply instanceof CompletableFuture<?> future ? future.join() : reply;
    } catch (InvocationTargetException error) {
      throw (Exception) error.getCause();
    } catch (CompletionException error) {
      throw (Exception) error.getCause();
    }
  }

  /** Sets members from JSON of the API's own form. */
  private static void read(SdkPojo builder, JsonNode content) {
    for (var field : builder.sdkFields()) {
      if (content.has(field.locationName())) {
        field.set(builder, value(field, content.get(field.locationName())));
      }
    }
  }

  private static Object value(SdkField<?> field, JsonNode content) {
    var type = field.marshallingType();
    if (type == MarshallingType.SDK_POJO) {
      var builder = field.constructor().get();
      read(builder, content);
      return ((Buildable) builder).build();
    }
    if (type == MarshallingType.LIST) {
      var found = new ArrayList<Object>();
      content.forEach(one -> found.add(value(field.getTrait(ListTrait.class).memberFieldInfo(), one)));
      return found;
    }
    if (type == MarshallingType.MAP) {
      var found = new HashMap<String, Object>();
      content.fields().forEachRemaining(e -> found.put(e.getKey(), value(field.getTrait(MapTrait.class).valueFieldInfo(), e.getValue())));
      return found;
    }
    if (type == MarshallingType.SDK_BYTES) {
      return SdkBytes.fromByteArray(Base64.getDecoder().decode(content.asText()));
    }
    if (type == MarshallingType.BOOLEAN) {
      return content.asBoolean();
    }
    if (type == MarshallingType.LONG) {
      return content.asLong();
    }
    return type == MarshallingType.INTEGER ? (Object) content.asInt() : content.asText();
  }

  private static Object member(SdkPojo pojo, String name) {
    return pojo.sdkFields().stream().filter(f -> f.locationName().equals(name)).findFirst().map(f -> f.getValueOrDefault(pojo)).orElse(null);
  }

  /** The members that are set, in the API's own form. */
  private static Object plain(Object value) {
    if (value instanceof SdkPojo pojo) {
      var found = new HashMap<String, Object>();
      for (var field : pojo.sdkFields()) {
        var inner = field.getValueOrDefault(pojo);
        if (inner != null && !inner.getClass().getSimpleName().startsWith("DefaultSdkAuto")) {
          found.put(field.locationName(), plain(inner));
        }
      }
      return found;
    }
    if (value instanceof List<?> list) {
      return list.stream().map(Requests::plain).toList();
    }
    if (value instanceof Map<?, ?> map) {
      var found = new HashMap<String, Object>();
      map.forEach((name, inner) -> found.put(name.toString(), plain(inner)));
      return found;
    }
    return value instanceof SdkBytes bytes ? Base64.getEncoder().encodeToString(bytes.asByteArray()) : value;
  }
}
