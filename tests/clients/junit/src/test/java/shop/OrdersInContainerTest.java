package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.net.URI;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/** The form with Testcontainers, which needs a container engine: one container for the class. */
@Tag("container")
@Testcontainers
class OrdersInContainerTest {
    // A container's clients are on another machine for the server, so that its admin API must answer everyone.
    @Container
    private static final GenericContainer<?> HASHRANGE = new GenericContainer<>("hashrange/hashrange")
            .withCommand("serve", "--in-memory", "--admin", "--admin-from", "everyone")
            .withExposedPorts(8000)
            .waitingFor(Wait.forHttp("/_hashrange/v1/ready"));

    @Test
    void ordersAreSorted() {
        try (DynamoDbClient client = client("000000000001")) {
            Orders orders = new Orders(client);
            orders.createTable();
            orders.place("ada", 10);
            orders.place("ada", 2);
            assertEquals(List.of(2, 10), orders.numbersOf("ada"));
        }
    }

    /** A client of a database of its own: an access key of 12 digits is an account. */
    private static DynamoDbClient client(String account) {
        return DynamoDbClient.builder()
                .endpointOverride(URI.create("http://" + HASHRANGE.getHost() + ":" + HASHRANGE.getMappedPort(8000)))
                .region(Region.US_EAST_1)
                .credentialsProvider(StaticCredentialsProvider.create(AwsBasicCredentials.create(account, "any")))
                .build();
    }
}
