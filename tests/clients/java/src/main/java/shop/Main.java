package shop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import software.amazon.awssdk.protocols.jsoncore.JsonNode;

/** Reads a call per line, {"call": "placeOrder", "with": {…}}, and answers each with a line of JSON. */
public final class Main {
  public static void main(String[] arguments) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var output = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    try (var shop = new Trade(URI.create(arguments[0]))) {
      for (String line = input.readLine(); line != null; line = input.readLine()) {
        Map<String, JsonNode> step = JsonNode.parser().parse(line).asObject();
        output.println(Plain.json(call(shop, step.get("call").asString(), new Arguments(step.get("with").asObject()))));
      }
    }
  }

  private static Object call(Shop shop, String name, Arguments arguments) throws Exception {
    Method method = method(shop.getClass(), name);
    try {
      return method.invoke(shop, arguments);
    } catch (InvocationTargetException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    }
  }

  private static Method method(Class<?> type, String name) throws NoSuchMethodException {
    try {
      return type.getDeclaredMethod(name, Arguments.class);
    } catch (NoSuchMethodException error) {
      if (type == Object.class) {
        throw error;
      }
      return method(type.getSuperclass(), name);
    }
  }
}
