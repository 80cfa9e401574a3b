package shop;

import static shop.Items.TABLE;
import static shop.Items.key;
import static shop.Items.list;
import static shop.Items.n;
import static shop.Items.orderKey;
import static shop.Items.productKey;
import static shop.Items.profileKey;
import static shop.Items.s;
import static shop.Items.with;

import java.math.BigDecimal;
import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.SdkBytes;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbEnhancedClient;
import software.amazon.awssdk.enhanced.dynamodb.DynamoDbTable;
import software.amazon.awssdk.enhanced.dynamodb.Key;
import software.amazon.awssdk.enhanced.dynamodb.TableSchema;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.dynamodb.DynamoDbAsyncClient;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;
import software.amazon.awssdk.services.dynamodb.model.ConditionalCheckFailedException;
import software.amazon.awssdk.services.dynamodb.model.DynamoDbException;
import software.amazon.awssdk.services.dynamodb.model.QueryRequest;
import software.amazon.awssdk.services.dynamodb.model.ReturnConsumedCapacity;
import software.amazon.awssdk.services.dynamodb.model.ReturnValue;
import software.amazon.awssdk.services.dynamodb.model.ReturnValuesOnConditionCheckFailure;
import software.amazon.awssdk.services.dynamodb.model.ScanRequest;
import software.amazon.awssdk.services.dynamodb.model.Select;
import software.amazon.awssdk.services.dynamodb.model.UpdateItemRequest;

/**
 * The shop as an application writes it: products through the enhanced client, counters and reports through the
 * asynchronous one (Netty), everything else through the plain one (Apache).
 *
 * <p>Every method with Arguments is one thing that the application does; what it returns is compared with
 * tests/clients/story.json.
 */
class Shop implements AutoCloseable {
  private static final ReturnValuesOnConditionCheckFailure OLD_ON_REFUSAL = ReturnValuesOnConditionCheckFailure.ALL_OLD;

  final DynamoDbClient client;
  final DynamoDbEnhancedClient enhanced;
  final DynamoDbTable<Product> products;
  private final DynamoDbAsyncClient async;

  Shop(URI endpoint) {
    var credentials = StaticCredentialsProvider.create(AwsBasicCredentials.create("key", "secret"));
    client = DynamoDbClient.builder()
        .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
    async = DynamoDbAsyncClient.builder()
        .endpointOverride(endpoint).region(Region.EU_WEST_1).credentialsProvider(credentials).build();
    enhanced = DynamoDbEnhancedClient.builder().dynamoDbClient(client).build();
    products = enhanced.table(TABLE, TableSchema.fromBean(Product.class));
  }

  @Override
  public void close() {
    client.close();
    async.close();
  }

  // --- the table ---

  Object open(Arguments given) {
    client.createTable(Items.TABLE_OPTIONS);
    var table = client.waiter().waitUntilTableExists(r -> r.tableName(TABLE)).matched().response().orElseThrow().table();
    return Map.of(
        "status", table.tableStatusAsString(),
        "keys", table.keySchema().stream().map(part -> part.attributeName() + " " + part.keyTypeAsString()).toList(),
        "billing", table.billingModeSummary().billingModeAsString(),
        "items", table.itemCount());
  }

  Object tables(Arguments given) {
    return client.listTablesPaginator().tableNames().stream().toList();
  }

  Object close(Arguments given) {
    client.deleteTable(r -> r.tableName(TABLE));
    client.waiter().waitUntilTableNotExists(r -> r.tableName(TABLE));
    return tables(given);
  }

  // --- users ---

  Object registerUser(Arguments given) {
    String user = given.text("user");
    var guard = with(key("EMAIL#" + given.text("email"), "EMAIL"), Map.of("owner", s(user)));
    String isNew = "attribute_not_exists(pk)";
    try {
      client.putItem(r -> r.tableName(TABLE).item(guard).conditionExpression(isNew)
          .returnValuesOnConditionCheckFailure(OLD_ON_REFUSAL));
    } catch (ConditionalCheckFailedException error) {
      return Map.of("taken_by", error.item().get("owner").s());
    }
    var profile = with(profileKey(user), Map.of(
        "kind", s("user"), "name", s(given.text("name")), "email", s(given.text("email")),
        "joined", s(given.text("joined")), "phone", AttributeValue.fromNul(true),
        "addresses", AttributeValue.fromM(Map.of())));
    client.putItem(r -> r.tableName(TABLE).item(profile).conditionExpression(isNew));
    return Map.of("registered", user);
  }

  Object profile(Arguments given) {
    var reply = client.getItem(r -> r.tableName(TABLE).key(profileKey(given.text("user"))).consistentRead(true)
        .projectionExpression("#name, orders, addresses.home.city, cart[0].product")
        .expressionAttributeNames(Map.of("#name", "name"))
        .returnConsumedCapacity(ReturnConsumedCapacity.TOTAL));
    return Map.of("item", Plain.of(reply.item()), "capacity", reply.consumedCapacity().capacityUnits());
  }

  Object setAddress(Arguments given) {
    var address = Map.of("street", s(given.text("street")), "city", s(given.text("city")));
    try {
      var reply = client.updateItem(r -> r.tableName(TABLE).key(profileKey(given.text("user")))
          .updateExpression("SET addresses.#label = :address")
          .conditionExpression("attribute_exists(pk)")
          .expressionAttributeNames(Map.of("#label", given.text("label")))
          .expressionAttributeValues(Map.of(":address", AttributeValue.fromM(address)))
          .returnValues(ReturnValue.ALL_NEW));
      return Plain.of(reply.attributes().get("addresses"));
    } catch (ConditionalCheckFailedException error) {
      return Map.of("unknown", given.text("user"));
    }
  }

  Object addToCart(Arguments given) {
    var line = AttributeValue.fromM(Map.of("product", s(given.text("product")), "quantity", n(given.number("quantity"))));
    var reply = client.updateItem(r -> r.tableName(TABLE).key(profileKey(given.text("user")))
        .updateExpression("SET cart = list_append(if_not_exists(cart, :none), :line)")
        .expressionAttributeValues(Map.of(":none", list(), ":line", list(line)))
        .returnValues(ReturnValue.UPDATED_NEW));
    return cart(reply.attributes());
  }

  Object dropFromCart(Arguments given) {
    var reply = client.updateItem(r -> r.tableName(TABLE).key(profileKey(given.text("user")))
        .updateExpression("REMOVE cart[" + given.number("position") + "]")
        .returnValues(ReturnValue.ALL_NEW));
    return cart(reply.attributes());
  }

  private static List<String> cart(Map<String, AttributeValue> profile) {
    return profile.get("cart").l().stream()
        .map(line -> line.m().get("quantity").n() + " " + line.m().get("product").s()).toList();
  }

  // --- products ---

  Object addProduct(Arguments given) {
    var product = new Product();
    product.setPk("PRODUCT#" + given.text("product"));
    product.setSk("PRODUCT");
    product.setKind("product");
    product.setName(given.text("name"));
    product.setCents(given.number("cents"));
    product.setStock(given.number("stock"));
    product.setWeight(new BigDecimal(given.text("weight")));
    product.setTags(given.list("tags").stream().map(JsonNode::asString).collect(Collectors.toSet()));
    product.setCodes(given.list("codes").stream().map(code -> new BigDecimal(code.asNumber())).collect(Collectors.toSet()));
    product.setSizes(given.node("sizes").asObject().entrySet().stream()
        .collect(Collectors.toMap(Map.Entry::getKey, size -> Double.valueOf(size.getValue().asNumber()))));
    product.setColours(given.list("colours").stream().map(JsonNode::asString).toList());
    product.setPicture(SdkBytes.fromByteArray(Base64.getDecoder().decode(given.text("picture"))));
    product.setForSale(true);
    try {
      products.putItem(product);
    } catch (ConditionalCheckFailedException error) {
      return Map.of("exists", given.text("product"));
    }
    return Map.of("version", find(given).getVersion());
  }

  private Product find(Arguments given) {
    var key = Key.builder().partitionValue("PRODUCT#" + given.text("product")).sortValue("PRODUCT").build();
    return products.getItem(r -> r.key(key).consistentRead(true));
  }

  Object product(Arguments given) {
    Product found = find(given);
    if (found == null) {
      return null;
    }
    var values = new LinkedHashMap<String, Object>();
    values.put("name", found.getName());
    values.put("cents", found.getCents());
    values.put("stock", found.getStock());
    values.put("weight", found.getWeight());
    values.put("tags", found.getTags().stream().sorted().toList());
    values.put("codes", found.getCodes().stream().sorted().toList());
    values.put("sizes", found.getSizes());
    values.put("colours", found.getColours());
    values.put("picture", Base64.getEncoder().encodeToString(found.getPicture().asByteArray()));
    values.put("for_sale", found.getForSale());
    values.put("version", found.getVersion());
    return values;
  }

  Object reprice(Arguments given) {
    Product product = find(given);
    product.setCents(given.number("cents"));
    product.setVersion(given.number("version"));
    try {
      product = products.updateItem(product);
    } catch (ConditionalCheckFailedException error) {
      Product now = find(given);
      return Map.of("conflict", now.getCents(), "version", now.getVersion());
    }
    return Map.of("cents", product.getCents(), "version", product.getVersion());
  }

  Object visit(Arguments given) {
    var request = UpdateItemRequest.builder().tableName(TABLE).key(productKey(given.text("product")))
        .updateExpression("ADD visits :one").expressionAttributeValues(Map.of(":one", n(1)))
        .returnValues(ReturnValue.UPDATED_NEW).build();
    int times = given.number("times");
    var visits = IntStream.range(0, times).mapToObj(visit -> async.updateItem(request)).toList();
    var counts = visits.stream().map(CompletableFuture::join)
        .map(reply -> Integer.valueOf(reply.attributes().get("visits").n())).sorted().toList();
    if (!counts.equals(IntStream.rangeClosed(1, times).boxed().toList())) {
      throw new IllegalStateException("visits were lost: " + counts);
    }
    return counts.get(times - 1);
  }

  // --- reviews ---

  Object review(Arguments given) {
    String user = given.text("user");
    Map<String, AttributeValue> found;
    try {
      found = client.updateItem(r -> r.tableName(TABLE).key(productKey(given.text("product")))
          .updateExpression("ADD reviewed_by :users, stars :stars, reviews :one")
          .conditionExpression("NOT contains(reviewed_by, :user)")
          .expressionAttributeValues(Map.of(
              ":users", AttributeValue.fromSs(List.of(user)), ":user", s(user),
              ":stars", n(given.number("stars")), ":one", n(1)))
          .returnValues(ReturnValue.UPDATED_NEW)
          .returnValuesOnConditionCheckFailure(OLD_ON_REFUSAL)).attributes();
    } catch (ConditionalCheckFailedException error) {
      return Map.of("reviewed_by", error.item().get("reviewed_by").ss());
    }
    String sk = "REVIEW#" + given.text("time") + "#" + user;
    client.putItem(r -> r.tableName(TABLE).item(with(key("PRODUCT#" + given.text("product"), sk), Map.of(
        "kind", s("review"), "stars", n(given.number("stars")), "text", s(given.text("text")),
        "author", AttributeValue.fromM(Map.of("id", s(user), "name", s(user)))))));
    return Map.of("reviews", Plain.of(found.get("reviews")), "stars", Plain.of(found.get("stars")));
  }

  Object latestReviews(Arguments given) {
    var reply = client.query(r -> r.tableName(TABLE)
        .keyConditionExpression("pk = :pk AND begins_with(sk, :prefix)")
        .filterExpression("stars >= :stars")
        .projectionExpression("#text, stars, author.#name")
        .expressionAttributeNames(Map.of("#text", "text", "#name", "name"))
        .expressionAttributeValues(Map.of(
            ":pk", s("PRODUCT#" + given.text("product")), ":prefix", s("REVIEW#"), ":stars", n(given.number("stars"))))
        .scanIndexForward(false)
        .limit(given.number("limit")));
    return Map.of("examined", reply.scannedCount(), "reviews", reply.items().stream().map(Plain::of).toList());
  }

  // --- orders ---

  private record Line(String product, int quantity, int cents) {}

  Object placeOrder(Arguments given) {
    var taken = new ArrayList<Line>();
    for (JsonNode line : given.list("lines")) {
      String product = line.asArray().get(0).asString();
      int quantity = Integer.parseInt(line.asArray().get(1).asNumber());
      try {
        taken.add(new Line(product, quantity, take(product, quantity)));
      } catch (ConditionalCheckFailedException error) {
        taken.forEach(this::giveBack);
        return Map.of("sold_out", product, "left", Plain.of(error.item().get("stock")));
      }
    }
    int total = taken.stream().mapToInt(line -> line.quantity() * line.cents()).sum();
    client.putItem(r -> r.tableName(TABLE)
        .item(with(orderKey(given), Map.of(
            "kind", s("order"), "user", s(given.text("user")), "order", s(given.text("order")),
            "status", s("placed"), "cents", n(total), "version", n(1))))
        .conditionExpression("attribute_not_exists(pk) AND attribute_not_exists(sk)"));
    for (int number = 0; number < taken.size(); number++) {
      Line line = taken.get(number);
      var item = with(key("ORDER#" + given.text("order"), String.format("ITEM#%03d", number)), Map.of(
          "kind", s("line"), "product", s(line.product()), "quantity", n(line.quantity()), "cents", n(line.cents())));
      client.putItem(r -> r.tableName(TABLE).item(item));
    }
    client.updateItem(r -> r.tableName(TABLE).key(profileKey(given.text("user")))
        .updateExpression("ADD orders :one, spent :cents REMOVE #later")
        .expressionAttributeNames(Map.of("#later", "wish list"))
        .expressionAttributeValues(Map.of(":one", n(1), ":cents", n(total))));
    return Map.of("cents", total);
  }

  /** The price of one; refused when there are not enough. */
  private int take(String product, int quantity) {
    var reply = client.updateItem(r -> r.tableName(TABLE).key(productKey(product))
        .updateExpression("SET stock = stock - :quantity")
        .conditionExpression("for_sale = :yes AND stock >= :quantity")
        .expressionAttributeValues(Map.of(":quantity", n(quantity), ":yes", AttributeValue.fromBool(true)))
        .returnValues(ReturnValue.ALL_OLD)
        .returnValuesOnConditionCheckFailure(OLD_ON_REFUSAL));
    return Integer.parseInt(reply.attributes().get("cents").n());
  }

  private void giveBack(Line line) {
    client.updateItem(r -> r.tableName(TABLE).key(productKey(line.product()))
        .updateExpression("ADD stock :quantity")
        .expressionAttributeValues(Map.of(":quantity", n(line.quantity()))));
  }

  Object orders(Arguments given) {
    var pages = client.queryPaginator(r -> r.tableName(TABLE)
        .keyConditionExpression("pk = :pk AND begins_with(sk, :prefix)")
        .expressionAttributeValues(Map.of(":pk", s("USER#" + given.text("user")), ":prefix", s("ORDER#")))
        .scanIndexForward(false)
        .limit(given.number("page_size")));
    return pages.stream().map(page -> orderNames(page.items())).toList();
  }

  Object ordersBetween(Arguments given) {
    var request = QueryRequest.builder().tableName(TABLE)
        .keyConditionExpression("pk = :pk AND sk BETWEEN :since AND :until")
        .expressionAttributeValues(Map.of(
            ":pk", s("USER#" + given.text("user")),
            ":since", s("ORDER#" + given.text("since")), ":until", s("ORDER#" + given.text("until")))).build();
    return orderNames(client.query(request).items());
  }

  private static List<String> orderNames(List<Map<String, AttributeValue>> items) {
    return items.stream().map(item -> item.get("order").s()).toList();
  }

  Object orderLines(Arguments given) {
    var reply = client.query(r -> r.tableName(TABLE)
        .keyConditionExpression("pk = :pk")
        .expressionAttributeValues(Map.of(":pk", s("ORDER#" + given.text("order")))));
    return reply.items().stream()
        .map(line -> line.get("quantity").n() + " " + line.get("product").s() + " at " + line.get("cents").n()).toList();
  }

  Object moveOrder(Arguments given) {
    int version = given.number("version");
    try {
      return Plain.of(client.updateItem(r -> r.tableName(TABLE).key(orderKey(given))
          .updateExpression("SET #status = :to, version = :next")
          .conditionExpression("version = :version")
          .expressionAttributeNames(Map.of("#status", "status"))
          .expressionAttributeValues(Map.of(":to", s(given.text("to")), ":version", n(version), ":next", n(version + 1)))
          .returnValues(ReturnValue.UPDATED_NEW)
          .returnValuesOnConditionCheckFailure(OLD_ON_REFUSAL)).attributes());
    } catch (ConditionalCheckFailedException error) {
      return Map.of("conflict", error.item().get("status").s(), "version", Plain.of(error.item().get("version")));
    }
  }

  Object cancelOrder(Arguments given) {
    try {
      var reply = client.deleteItem(r -> r.tableName(TABLE).key(orderKey(given))
          .conditionExpression("#status IN (:placed, :packed)")
          .expressionAttributeNames(Map.of("#status", "status"))
          .expressionAttributeValues(Map.of(":placed", s("placed"), ":packed", s("packed")))
          .returnValues(ReturnValue.ALL_OLD)
          .returnValuesOnConditionCheckFailure(OLD_ON_REFUSAL));
      return Map.of("cancelled", Plain.of(reply.attributes().get("cents")));
    } catch (ConditionalCheckFailedException error) {
      var refused = new HashMap<String, Object>();
      refused.put("refused", error.hasItem() ? error.item().get("status").s() : null);
      return refused;
    }
  }

  // --- reports ---

  Object spending(Arguments given) {
    int segments = given.number("segments");
    var sums = new TreeMap<String, Integer>();
    var reports = IntStream.range(0, segments).mapToObj(segment -> async.scanPaginator(
        ScanRequest.builder().tableName(TABLE).filterExpression("kind = :kind")
            .expressionAttributeValues(Map.of(":kind", s("order")))
            .segment(segment).totalSegments(segments).limit(3).build())
        .items().subscribe(order -> {
          synchronized (sums) {
            sums.merge(order.get("user").s(), Integer.valueOf(order.get("cents").n()), Integer::sum);
          }
        })).toList();
    reports.forEach(CompletableFuture::join);
    return sums;
  }

  Object count(Arguments given) {
    int count = 0;
    int examined = 0;
    var request = ScanRequest.builder().tableName(TABLE).filterExpression("kind = :kind")
        .expressionAttributeValues(Map.of(":kind", s(given.text("kind"))))
        .select(Select.COUNT).limit(given.number("page_size")).build();
    for (var page : client.scanPaginator(request)) {
      count += page.count();
      examined += page.scannedCount();
    }
    return Map.of("count", count, "examined", examined);
  }

  // --- what goes wrong ---

  Object mistakes(Arguments given) {
    var ada = profileKey("ada");
    List<Runnable> calls = List.of(
        () -> client.getItem(r -> r.tableName("shup").key(ada)),
        () -> client.createTable(Items.TABLE_OPTIONS),
        () -> client.getItem(r -> r.tableName(TABLE).key(Map.of("pk", s("USER#ada")))),
        () -> client.putItem(r -> r.tableName(TABLE).item(key("USER#ada", ""))),
        () -> client.updateItem(r -> r.tableName(TABLE).key(ada).updateExpression("SET name = :name")
            .expressionAttributeValues(Map.of(":name", s("A")))),
        () -> client.updateItem(r -> r.tableName(TABLE).key(ada).updateExpression("SET points = points + :one")
            .expressionAttributeValues(Map.of(":one", n(1)))),
        () -> client.query(r -> r.tableName(TABLE).keyConditionExpression("sk = :sk")
            .expressionAttributeValues(Map.of(":sk", s("PROFILE")))),
        () -> client.putItem(r -> r.tableName(TABLE).item(with(ada, Map.of("text", s("x".repeat(409_600)))))),
        () -> client.deleteItem(r -> r.tableName(TABLE).key(ada).conditionExpression("attribute_not_exists(pk)")));
    return calls.stream().map(Shop::mistake).toList();
  }

  static String mistake(Runnable call) {
    try {
      call.run();
      return "no error";
    } catch (DynamoDbException error) {
      var details = Objects.requireNonNull(error.awsErrorDetails());
      return details.errorCode() + ": " + details.errorMessage();
    }
  }
}
