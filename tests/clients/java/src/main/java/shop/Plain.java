package shop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import software.amazon.awssdk.services.dynamodb.model.AttributeValue;

/** Values of the service as plain Java, and plain Java as what stands in story.json. */
final class Plain {
  private Plain() {}

  /** Strings, BigDecimals, lists, maps, booleans and null; sets as lists. */
  static Object of(AttributeValue value) {
    return switch (value.type()) {
      case S -> value.s();
      case N -> new BigDecimal(value.n());
      case B -> Base64.getEncoder().encodeToString(value.b().asByteArray());
      case SS -> value.ss();
      case NS -> value.ns().stream().map(BigDecimal::new).sorted().toList();
      case L -> value.l().stream().map(Plain::of).collect(Collectors.toCollection(ArrayList::new));
      case M -> of(value.m());
      case BOOL -> value.bool();
      case NUL -> null;
      default -> throw new IllegalArgumentException(value.toString());
    };
  }

  static Map<String, Object> of(Map<String, AttributeValue> item) {
    var found = new TreeMap<String, Object>();
    item.forEach((name, value) -> found.put(name, of(value)));
    return found;
  }

  static String json(Object value) {
    if (value == null || value instanceof Boolean || value instanceof Integer) {
      return String.valueOf(value);
    }
    if (value instanceof Number number) {
      return number(new BigDecimal(number.toString()));
    }
    if (value instanceof Map<?, ?> map) {
      List<String> members = new ArrayList<>();
      map.forEach((name, inner) -> members.add(text((String) name) + ":" + json(inner)));
      return "{" + String.join(",", members) + "}";
    }
    if (value instanceof Collection<?> list) {
      return list.stream().map(Plain::json).collect(Collectors.joining(",", "[", "]"));
    }
    return text((String) value);
  }

  /** A JSON number when a double holds it exactly as written, else its text. */
  private static String number(BigDecimal number) {
    boolean isShort = new BigDecimal(Double.toString(number.doubleValue())).compareTo(number) == 0;
    String digits = number.stripTrailingZeros().toPlainString();
    return isShort ? digits : text(digits);
  }

  private static String text(String value) {
    var quoted = new StringBuilder("\"");
    value.chars().forEach(unit -> {
      if (unit == '"' || unit == '\\' || unit < ' ' || unit > '~') {
        quoted.append(String.format("\\u%04x", unit));
      } else {
        quoted.append((char) unit);
      }
    });
    return quoted.append('"').toString();
  }
}
