package kcl;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;

/**
 * Arguments: endpoint, ARN of a stream. Reads a command per line: `start` and the name of a worker, or `stop`. Prints what
 * workers hear, a line of JSON each, and `{"stopped": true}` when a worker reads no more.
 */
public final class Main {
  private static final PrintStream OUTPUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);

  public static void main(String[] arguments) throws Exception {
    var input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    Worker worker = null;
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("start")) {
        worker = new Worker(URI.create(arguments[0]), arguments[1], words[1]);
        worker.start();
      } else {
        worker.stop();
        say("{\"stopped\": true}");
      }
    }
    // The library leaves threads behind that are no daemons.
    System.exit(0);
  }

  /** From any thread: println of a PrintStream is one piece. */
  static void say(String line) {
    OUTPUT.println(line);
  }
}
