package shop;

import java.util.List;
import java.util.Map;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;

/** What a call of the story is made with. */
record Arguments(Map<String, JsonNode> values) {
  JsonNode node(String name) {
    return values.get(name);
  }

  String text(String name) {
    return node(name).asString();
  }

  int number(String name) {
    return Integer.parseInt(node(name).asNumber());
  }

  List<JsonNode> list(String name) {
    return node(name).asArray();
  }
}
