package shop;

import java.util.List;
import java.util.Map;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;

/** An application that is tested: the orders of customers, in a table that it creates itself. */
public final class Orders {
    private static final String TABLE = "Orders";

    private final DynamoDbClient client;

    public Orders(DynamoDbClient client) {
        this.client = client;
    }

    public void createTable() {
        client.createTable(table -> table
                .tableName(TABLE)
                .keySchema(
                        KeySchemaElement.builder().attributeName("customer").keyType(KeyType.HASH).build(),
                        KeySchemaElement.builder().attributeName("number").keyType(KeyType.RANGE).build())
                .attributeDefinitions(
                        AttributeDefinition.builder().attributeName("customer").attributeType(ScalarAttributeType.S).build(),
                        AttributeDefinition.builder().attributeName("number").attributeType(ScalarAttributeType.N).build())
                .billingMode(BillingMode.PAY_PER_REQUEST));
    }

    public void place(String customer, int number) {
        client.putItem(put -> put
                .tableName(TABLE)
                .item(Map.of(
                        "customer", AttributeValue.fromS(customer),
                        "number", AttributeValue.fromN(Integer.toString(number))))
                .conditionExpression("attribute_not_exists(customer)"));
    }

    public List<Integer> numbersOf(String customer) {
        return client.query(query -> query
                        .tableName(TABLE)
                        .keyConditionExpression("customer = :customer")
                        .expressionAttributeValues(Map.of(":customer", AttributeValue.fromS(customer))))
                .items().stream()
                .map(item -> Integer.valueOf(item.get("number").n()))
                .toList();
    }
}
