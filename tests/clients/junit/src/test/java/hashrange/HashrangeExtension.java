package hashrange;

import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;
import software.amazon.awssdk.services.dynamodb.DynamoDbClient;

/**
 * Starts one server for all test classes, empties it before each test, and gives tests a DynamoDbClient or the HashrangeServer.
 *
 * <p>JUnit closes what its root store holds, and so ends the server, after the last test.
 */
public final class HashrangeExtension implements BeforeEachCallback, ParameterResolver {
    @Override
    public void beforeEach(ExtensionContext context) {
        server(context).reset();
    }

    @Override
    public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
        Class<?> type = parameter.getParameter().getType();
        return type == DynamoDbClient.class || type == HashrangeServer.class;
    }

    @Override
    public Object resolveParameter(ParameterContext parameter, ExtensionContext context) {
        HashrangeServer server = server(context);
        return parameter.getParameter().getType() == DynamoDbClient.class ? server.client() : server;
    }

    private static HashrangeServer server(ExtensionContext context) {
        return context.getRoot()
                .getStore(Namespace.create(HashrangeExtension.class))
                .getOrComputeIfAbsent(HashrangeServer.class, type -> HashrangeServer.start(), HashrangeServer.class);
    }
}
