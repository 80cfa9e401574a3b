package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import hashrange.HashrangeExtension;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;

@ExtendWith(HashrangeExtension.class)
class OrdersTest {
    private Orders orders;

    @BeforeEach
    void createTable(DynamoDbClient client) {
        orders = new Orders(client);
        orders.createTable();
    }

    @Test
    void ordersAreSorted() {
        orders.place("ada", 10);
        orders.place("ada", 2);
        assertEquals(List.of(2, 10), orders.numbersOf("ada"));
    }

    @Test
    void anOrderIsPlacedOnce() {
        orders.place("ada", 2);
        assertThrows(ConditionalCheckFailedException.class, () -> orders.place("ada", 2));
        assertEquals(List.of(2), orders.numbersOf("ada"));
    }
}
