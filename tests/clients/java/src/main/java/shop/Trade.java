package shop;

import static shop.Items.TABLE;
import static shop.Items.key;
import static shop.Items.n;
import static shop.Items.orderKey;
import static shop.Items.productKey;
import static shop.Items.profileKey;
import static shop.Items.s;
import static shop.Items.with;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbIndex;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.enhanced.dynamodb.model.QueryConditional;
import software.amazon.awssdk.enhanced.dynamodb.model.ReadBatch;
import software.amazon.awssdk.enhanced.dynamodb.model.TransactGetItemsEnhancedRequest;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.CancellationReason;
import software.amazon.awssdk.services.dynamodb.model.ConditionCheck;
import software.amazon.awssdk.services.dynamodb.model.IdempotentParameterMismatchException;
import software.amazon.awssdk.services.dynamodb.model.IndexStatus;
import software.amazon.awssdk.services.dynamodb.model.KeysAndAttributes;
import software.amazon.awssdk.services.dynamodb.model.Put;
import software.amazon.awssdk.services.dynamodb.model.QueryRequest;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.Select;
import software.amazon.awssdk.services.dynamodb.model.TableStatus;
import software.amazon.awssdk.services.dynamodb.model.TransactGetItem;
import software.amazon.awssdk.services.dynamodb.model.TransactWriteItem;
import software.amazon.awssdk.services.dynamodb.model.TransactionCanceledException;
import software.amazon.awssdk.services.dynamodb.model.Update;
import software.amazon.awssdk.services.dynamodb.model.WriteRequest;

/**
 * The grown shop: indexes added while it runs, orders and payments in one piece, goods by the hundred.
 *
 * <p>Sales, prices and goods are read through the enhanced client.
 */
final class Trade extends Shop {
  private static final int BATCH_GET_MAX = 100;
  private static final int BATCH_WRITE_MAX = 25;
  private static final long POLL_MS = 50;

  private final DynamoDbIndex<Sale> byProduct;

  Trade(URI endpoint) {
    super(endpoint);
    byProduct = enhanced.table(TABLE, TableSchema.fromBean(Sale.class)).index("by_product");
  }

  // --- indexes ---

  Object addIndex(Arguments given) throws InterruptedException {
    client.updateTable(Items.newIndex(given.text("name")));
    while (true) {
      var table = client.describeTable(r -> r.tableName(TABLE)).table();
      var index = table.globalSecondaryIndexes().stream()
          .filter(one -> one.indexName().equals(given.text("name"))).findFirst().orElseThrow();
      if (table.tableStatus() == TableStatus.ACTIVE && index.indexStatus() == IndexStatus.ACTIVE) {
        return Map.of(
            "keys", index.keySchema().stream().map(part -> part.attributeName() + " " + part.keyTypeAsString()).toList(),
            "projection", index.projection().projectionTypeAsString());
      }
      Thread.sleep(POLL_MS);
    }
  }

  Object ordersByStatus(Arguments given) {
    var pages = client.queryPaginator(r -> r.tableName(TABLE).indexName("by_status")
        .keyConditionExpression("#status = :status AND begins_with(sk, :prefix)")
        .expressionAttributeNames(Map.of("#status", "status"))
        .expressionAttributeValues(Map.of(":status", s(given.text("status")), ":prefix", s("ORDER#")))
        .scanIndexForward(false)
        .limit(given.number("page_size")));
    return pages.stream().map(page -> page.items().stream().map(item -> item.get("order").s()).toList()).toList();
  }

  private static QueryRequest.Builder byEmail(String email) {
    return QueryRequest.builder().tableName(TABLE).indexName("by_email")
        .keyConditionExpression("email = :email").expressionAttributeValues(Map.of(":email", s(email)));
  }

  Object userByEmail(Arguments given) {
    var found = client.query(byEmail(given.text("email")).build()).items();
    return found.isEmpty() ? null : Plain.of(found.get(0));
  }

  Object sales(Arguments given) {
    var from = Key.builder().partitionValue(given.text("product")).sortValue(given.number("least")).build();
    var page = byProduct.query(r -> r.queryConditional(QueryConditional.sortGreaterThanOrEqualTo(from))
        .scanIndexForward(false).returnConsumedCapacity(ReturnConsumedCapacity.INDEXES)).iterator().next();
    return Map.of(
        "sales", page.items().stream().map(sale -> sale.getQuantity() + " in " + sale.getPk()).toList(),
        "table", page.consumedCapacity().table().capacityUnits(),
        "index", page.consumedCapacity().globalSecondaryIndexes().get("by_product").capacityUnits());
  }

  // --- all or nothing ---

  private static TransactWriteItem action(Update update) {
    return TransactWriteItem.builder().update(update).build();
  }

  private static TransactWriteItem action(Put put) {
    return TransactWriteItem.builder().put(put).build();
  }

  private static TransactWriteItem exists(String user) {
    return TransactWriteItem.builder().conditionCheck(ConditionCheck.builder().tableName(TABLE)
        .key(profileKey(user)).conditionExpression("attribute_exists(pk)").build()).build();
  }

  private List<Integer> prices(List<String> names) {
    var request = TransactGetItemsEnhancedRequest.builder();
    names.forEach(name -> request.addGetItem(
        products, Key.builder().partitionValue("PRODUCT#" + name).sortValue("PRODUCT").build()));
    return enhanced.transactGetItems(request.build()).stream()
        .map(document -> document.getItem(products).getCents()).toList();
  }

  Object buy(Arguments given) {
    List<String> names = given.list("lines").stream().map(line -> line.asArray().get(0).asString()).toList();
    List<Integer> quantities = given.list("lines").stream()
        .map(line -> line.asArray().get(1)).map(JsonNode::asNumber).map(Integer::valueOf).toList();
    List<Integer> prices = prices(names);
    int cents = IntStream.range(0, names.size()).map(line -> quantities.get(line) * prices.get(line)).sum();
    var actions = new ArrayList<TransactWriteItem>();
    for (int line = 0; line < names.size(); line++) {
      actions.add(taking(names.get(line), quantities.get(line)));
    }
    actions.add(action(Put.builder().tableName(TABLE)
        .item(with(orderKey(given), Map.of(
            "kind", s("order"), "user", s(given.text("user")), "order", s(given.text("order")),
            "status", s("placed"), "cents", n(cents), "version", n(1))))
        .conditionExpression("attribute_not_exists(pk)").build()));
    for (int line = 0; line < names.size(); line++) {
      var place = key("ORDER#" + given.text("order"), String.format("ITEM#%03d", line));
      actions.add(action(Put.builder().tableName(TABLE).item(with(place, Map.of(
          "kind", s("line"), "product", s(names.get(line)),
          "quantity", n(quantities.get(line)), "cents", n(prices.get(line))))).build()));
    }
    actions.add(exists(given.text("user")));
    try {
      var reply = client.transactWriteItems(
          r -> r.transactItems(actions).returnConsumedCapacity(ReturnConsumedCapacity.TOTAL));
      return Map.of("cents", cents, "units", reply.consumedCapacity().get(0).capacityUnits());
    } catch (TransactionCanceledException error) {
      return cancelled(error, "stock");
    }
  }

  private static TransactWriteItem taking(String product, int quantity) {
    return action(Update.builder().tableName(TABLE).key(productKey(product))
        .updateExpression("SET stock = stock - :quantity")
        .conditionExpression("stock >= :quantity")
        .expressionAttributeValues(Map.of(":quantity", n(quantity)))
        .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD).build());
  }

  /** Why a transaction was cancelled, action by action, and the number `name` of the items that came with it. */
  private static Object cancelled(TransactionCanceledException error, String name) {
    List<CancellationReason> reasons = error.cancellationReasons();
    return Map.of(
        "cancelled", reasons.stream().map(CancellationReason::code).toList(),
        "because", reasons.stream().filter(reason -> !reason.code().equals("None")).findFirst().orElseThrow().message(),
        name, reasons.stream().filter(CancellationReason::hasItem).map(reason -> Plain.of(reason.item().get(name))).toList(),
        "message", error.awsErrorDetails().errorMessage());
  }

  Object topUp(Arguments given) {
    return Plain.of(client.updateItem(r -> r.tableName(TABLE).key(profileKey(given.text("user")))
        .updateExpression("ADD balance :cents")
        .conditionExpression("attribute_exists(pk)")
        .expressionAttributeValues(Map.of(":cents", n(given.number("cents"))))
        .returnValues(ReturnValue.UPDATED_NEW)).attributes());
  }

  Object transfer(Arguments given) {
    var users = List.of(given.text("sender"), given.text("receiver"));
    var values = Map.of(":cents", n(given.number("cents")));
    var take = Update.builder().tableName(TABLE).key(profileKey(users.get(0)))
        .updateExpression("SET balance = balance - :cents")
        .conditionExpression("balance >= :cents")
        .expressionAttributeValues(values)
        .returnValuesOnConditionCheckFailure(ReturnValuesOnConditionCheckFailure.ALL_OLD).build();
    var give = Update.builder().tableName(TABLE).key(profileKey(users.get(1)))
        .updateExpression("ADD balance :cents")
        .conditionExpression("attribute_exists(pk)")
        .expressionAttributeValues(values).build();
    try {
      client.transactWriteItems(
          r -> r.transactItems(action(take), action(give)).clientRequestToken(given.text("token")));
    } catch (TransactionCanceledException error) {
      return cancelled(error, "balance");
    } catch (IdempotentParameterMismatchException error) {
      return Map.of("mistaken", given.text("token"));
    }
    var found = client.transactGetItems(r -> r.transactItems(users.stream()
        .map(user -> TransactGetItem.builder()
            .get(get -> get.tableName(TABLE).key(profileKey(user)).projectionExpression("balance")).build())
        .toList()));
    return Map.of("balances", found.responses().stream().map(one -> Plain.of(one.item().get("balance"))).toList());
  }

  // --- by the hundred ---

  private static Stream<Map<String, AttributeValue>> goods(Arguments given) {
    return IntStream.range(0, given.number("count")).mapToObj(number -> productKey(given.text("prefix") + number));
  }

  Object loadGoods(Arguments given) {
    var items = new ArrayList<WriteRequest>();
    goods(given).forEach(place -> {
      int number = items.size();
      var item = with(place, Map.of(
          "kind", s("goods"), "name", s(given.text("prefix") + " " + number), "cents", n(number)));
      items.add(WriteRequest.builder().putRequest(put -> put.item(item)).build());
    });
    return write(items);
  }

  Object dropGoods(Arguments given) {
    return write(goods(given)
        .map(place -> WriteRequest.builder().deleteRequest(delete -> delete.key(place)).build()).toList());
  }

  /** How many batches it took. */
  private int write(List<WriteRequest> requests) {
    int batches = 0;
    for (List<WriteRequest> share : shares(requests, BATCH_WRITE_MAX)) {
      var left = Map.of(TABLE, share);
      while (!left.isEmpty()) {
        var request = left;
        left = client.batchWriteItem(r -> r.requestItems(request)).unprocessedItems();
        batches++;
      }
    }
    return batches;
  }

  Object worth(Arguments given) {
    int found = 0;
    int cents = 0;
    for (var share : shares(goods(given).toList(), BATCH_GET_MAX)) {
      var batch = ReadBatch.builder(Product.class).mappedTableResource(products);
      share.forEach(place -> batch.addGetItem(
          r -> r.key(k -> k.partitionValue(place.get("pk")).sortValue(place.get("sk"))).consistentRead(true)));
      for (Product product : enhanced.batchGetItem(r -> r.readBatches(batch.build())).resultsForTable(products)) {
        found++;
        cents += product.getCents();
      }
    }
    return Map.of("goods", found, "cents", cents);
  }

  private static <T> List<List<T>> shares(List<T> values, int size) {
    return IntStream.iterate(0, start -> start < values.size(), start -> start + size)
        .mapToObj(start -> values.subList(start, Math.min(start + size, values.size()))).toList();
  }

  // --- what goes wrong ---

  Object tradeMistakes(Arguments given) {
    var ada = profileKey("ada");
    String email = "ada@example.org";
    var put = WriteRequest.builder().putRequest(request -> request.item(ada)).build();
    List<Runnable> calls = List.of(
        () -> client.query(byEmail(email).consistentRead(true).build()),
        () -> client.query(byEmail(email).indexName("by_colour").build()),
        () -> client.query(byEmail(email).select(Select.ALL_ATTRIBUTES).build()),
        () -> client.putItem(r -> r.tableName(TABLE).item(with(ada, Map.of("email", n(1))))),
        () -> client.updateTable(Items.newIndex("by_email")),
        () -> client.batchGetItem(r -> r.requestItems(Map.of(TABLE, keys(ada, ada)))),
        () -> client.batchWriteItem(r -> r.requestItems(Map.of(TABLE, List.of(put, put)))),
        () -> client.transactWriteItems(r -> r.transactItems(exists("ada"), exists("ada"))));
    return calls.stream().map(Shop::mistake).toList();
  }

  @SafeVarargs
  private static KeysAndAttributes keys(
      Map<String, AttributeValue>... places) {
    return KeysAndAttributes.builder().keys(places).build();
  }
}
