package dax;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.function.Function;
import java.util.logging.LogManager;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.model.*;
import software.amazon.dax.ClusterDaxAsyncClient;
import software.amazon.dax.ClusterDaxClient;
import software.amazon.dax.Configuration;

/**
 * Reads through a cluster, as often as a line comes: each time until an item was read 30 times, and prints how many of these were
 * right. A read that fails is tried again.
 *
 * <p>Arguments: the URL of the cluster, and which client: blocking or async.
 */
public final class Failover {
  private static final int READS = 30;
  private static final int TRIES = 1000;

  private Failover() {}

  public static void main(String[] arguments) throws Exception {
    LogManager.getLogManager().reset(); // the client tells on standard error that it has connected
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("AKIDEXAMPLE", "secret"));
    var configuration = Configuration.builder().region(Region.EU_WEST_1).credentialsProvider(credentials).url(arguments[0]).build();
    if (arguments[1].equals("blocking")) {
      readAsAsked(ClusterDaxClient.builder().overrideConfiguration(configuration).build()::getItem);
    } else {
      var client = ClusterDaxAsyncClient.builder().overrideConfiguration(configuration).build();
      readAsAsked(request -> client.getItem(request).join());
    }
    System.exit(0);
  }

  private static void readAsAsked(Function<GetItemRequest, GetItemResponse> get) throws Exception {
    var key = Map.of("artist", AttributeValue.builder().s("Nina").build());
    var request = GetItemRequest.builder().tableName("music").key(key).build();
    var asking = new BufferedReader(new InputStreamReader(System.in));
    while (asking.readLine() != null) {
      List<Map<String, AttributeValue>> found = new ArrayList<>();
      for (int tries = 0; tries < TRIES && found.size() < READS; tries++) {
        try {
          found.add(get.apply(request).item());
        } catch (SdkException | CompletionException problem) {
          // it is tried again
        }
      }
      System.out.println(found.stream().filter(item -> "1958".equals(item.get("year").n())).count());
      System.out.flush();
    }
  }
}
