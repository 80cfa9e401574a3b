package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hashrange.HashrangeExtension;
import hashrange.HashrangeServer;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

@ExtendWith(HashrangeExtension.class)
class SessionsTest {
    private Sessions sessions;

    @BeforeEach
    void createTable(DynamoDbClient client) {
        sessions = new Sessions(client);
        sessions.createTable();
    }

    @Test
    void aSessionEndsAfterAnHour(HashrangeServer server) {
        sessions.open("short", Instant.now().plus(Duration.ofHours(1)));
        sessions.open("long", Instant.now().plus(Duration.ofHours(3)));
        server.advance(Duration.ofHours(2));
        assertFalse(sessions.isOpen("short"));
        assertTrue(sessions.isOpen("long"));
    }

    @Test
    void everyTestBeginsWithItsOwnTablesOnly(DynamoDbClient client) {
        assertEquals(List.of("Sessions"), client.listTables().tableNames());
    }
}
