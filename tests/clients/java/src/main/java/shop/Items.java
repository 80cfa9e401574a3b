package shop;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import software.amazon.awssdk.services.dynamodb.model.AttributeDefinition;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.BillingMode;
import software.amazon.awssdk.services.dynamodb.model.CreateTableRequest;
import software.amazon.awssdk.services.dynamodb.model.KeySchemaElement;
import software.amazon.awssdk.services.dynamodb.model.KeyType;
import software.amazon.awssdk.services.dynamodb.model.ProjectionType;
import software.amazon.awssdk.services.dynamodb.model.ScalarAttributeType;
import software.amazon.awssdk.services.dynamodb.model.UpdateTableRequest;

/** The table, its keys, and items in the service's own form. */
final class Items {
  static final String TABLE = "shop";
  static final CreateTableRequest TABLE_OPTIONS =
      CreateTableRequest.builder()
          .tableName(TABLE)
          .keySchema(part("pk", KeyType.HASH), part("sk", KeyType.RANGE))
          .attributeDefinitions(string("pk"), string("sk"), string("status"))
          .globalSecondaryIndexes(index -> index.indexName("by_status")
              .keySchema(part("status", KeyType.HASH), part("sk", KeyType.RANGE))
              .projection(projection -> projection.projectionType(ProjectionType.ALL)))
          .billingMode(BillingMode.PAY_PER_REQUEST)
          .build();

  private Items() {}

  /** What a running shop says to add an index. */
  static UpdateTableRequest newIndex(String name) {
    var request = UpdateTableRequest.builder().tableName(TABLE);
    return switch (name) {
      case "by_email" -> request
          .attributeDefinitions(string("email"))
          .globalSecondaryIndexUpdates(update -> update.create(index -> index.indexName(name)
              .keySchema(part("email", KeyType.HASH))
              .projection(projection -> projection.projectionType(ProjectionType.INCLUDE).nonKeyAttributes("name"))))
          .build();
      case "by_product" -> request
          .attributeDefinitions(string("product"), number("quantity"))
          .globalSecondaryIndexUpdates(update -> update.create(index -> index.indexName(name)
              .keySchema(part("product", KeyType.HASH), part("quantity", KeyType.RANGE))
              .projection(projection -> projection.projectionType(ProjectionType.KEYS_ONLY))))
          .build();
      default -> throw new IllegalArgumentException(name);
    };
  }

  private static KeySchemaElement part(String name, KeyType type) {
    return KeySchemaElement.builder().attributeName(name).keyType(type).build();
  }

  private static AttributeDefinition string(String name) {
    return AttributeDefinition.builder().attributeName(name).attributeType(ScalarAttributeType.S).build();
  }

  private static AttributeDefinition number(String name) {
    return AttributeDefinition.builder().attributeName(name).attributeType(ScalarAttributeType.N).build();
  }

  static AttributeValue s(String text) {
    return AttributeValue.fromS(text);
  }

  static AttributeValue n(long number) {
    return AttributeValue.fromN(Long.toString(number));
  }

  static Map<String, AttributeValue> key(String pk, String sk) {
    return Map.of("pk", s(pk), "sk", s(sk));
  }

  static Map<String, AttributeValue> productKey(String product) {
    return key("PRODUCT#" + product, "PRODUCT");
  }

  static Map<String, AttributeValue> profileKey(String user) {
    return key("USER#" + user, "PROFILE");
  }

  static Map<String, AttributeValue> orderKey(Arguments given) {
    return key("USER#" + given.text("user"), "ORDER#" + given.text("time") + "#" + given.text("order"));
  }

  static Map<String, AttributeValue> with(Map<String, AttributeValue> key, Map<String, AttributeValue> values) {
    var item = new TreeMap<>(key);
    item.putAll(values);
    return item;
  }

  static AttributeValue list(AttributeValue... values) {
    return AttributeValue.fromL(List.of(values));
  }
}
