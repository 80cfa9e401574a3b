package shop;

import java.time.Instant;
import java.util.Map;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** An application that is tested: sessions that DynamoDB deletes when they have expired. */
public final class Sessions {
    private static final String TABLE = "Sessions";

    private final DynamoDbClient client;

    public Sessions(DynamoDbClient client) {
        this.client = client;
    }

    public void createTable() {
        client.createTable(table -> table
                .tableName(TABLE)
                .keySchema(KeySchemaElement.builder().attributeName("id").keyType(KeyType.HASH).build())
                .attributeDefinitions(
                        AttributeDefinition.builder().attributeName("id").attributeType(ScalarAttributeType.S).build())
                .billingMode(BillingMode.PAY_PER_REQUEST));
        client.updateTimeToLive(update -> update
                .tableName(TABLE)
                .timeToLiveSpecification(specification -> specification.attributeName("expires").enabled(true)));
    }

    public void open(String id, Instant expires) {
        client.putItem(put -> put
                .tableName(TABLE)
                .item(Map.of(
                        "id", AttributeValue.fromS(id),
                        "expires", AttributeValue.fromN(Long.toString(expires.getEpochSecond())))));
    }

    public boolean isOpen(String id) {
        return client.getItem(get -> get.tableName(TABLE).key(Map.of("id", AttributeValue.fromS(id)))).hasItem();
    }
}
