package hashrange;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** A server in a process of its own: it keeps everything in memory, on a free port. */
public final class HashrangeServer implements AutoCloseable {
    private static final Pattern ENDPOINT = Pattern.compile("http://[\\d.]+:\\d+");

    private final HttpClient admin = HttpClient.newHttpClient();
    private final Process process;
    private final String endpoint;
    private final DynamoDbClient client;

    private HashrangeServer(Process process, String endpoint) {
        this.process = process;
        this.endpoint = endpoint;
        this.client = DynamoDbClient.builder()
                .endpointOverride(URI.create(endpoint))
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create("any", "any")))
                .build();
    }

    /** Starts the command in the environment variable HASHRANGE, or else `hashrange`. */
    public static HashrangeServer start() {
        String command = System.getenv().getOrDefault("HASHRANGE", "hashrange");
        List<String> words = new ArrayList<>(List.of(command.split(" ")));
        words.addAll(List.of("serve", "--in-memory", "--port", "0", "--admin"));
        try {
            Process process = new ProcessBuilder(words).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            // The server prints one line with its endpoint once it is ready.
            String line = process.inputReader().readLine();
            Matcher endpoint = ENDPOINT.matcher(line == null ? "" : line);
            if (!endpoint.find()) {
                process.destroy();
                throw new IllegalStateException("The server did not become ready: " + line);
            }
            return new HashrangeServer(process, endpoint.group());
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    public DynamoDbClient client() {
        return client;
    }

    /** Deletes everything, and lets service time run as the machine's again. */
    public void reset() {
        post("reset", "{}");
    }

    /** Moves service time ahead; returns when all that became due is done. */
    public void advance(Duration duration) {
        post("clock/advance", "{\"seconds\": " + duration.toSeconds() + "}");
    }

    private void post(String path, String body) {
        HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "/_hashrange/v1/" + path))
                .POST(HttpRequest.BodyPublishers.ofString(body))
                .build();
        try {
            var reply = admin.send(request, BodyHandlers.ofString());
            if (reply.statusCode() != 200) {
                throw new IllegalStateException(reply.body());
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void close() throws InterruptedException {
        client.close();
        process.destroy();
        process.waitFor();
    }
}
