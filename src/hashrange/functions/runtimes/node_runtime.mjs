// How does a JavaScript handler run in a process of its own? This file is that process's program, under Node.js 18 or later.
//
// functions/environment.py starts it and functions/connection.py describes the messages. What it returns, logs and calls
// errors is what Lambda's runtime for Node.js does. Source: the public aws-lambda-nodejs-runtime-interface-client, 2026.

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, types } from "node:util";

const require = createRequire(import.meta.url);
const ERROR_CHARACTERS_MAX = 256 * 1024;
const [port, secret] = process.env._HASHRANGE_RUNTIME.split(":");
delete process.env._HASHRANGE_RUNTIME;

class RuntimeError extends Error {
  constructor(name, message, cause) {
    super(message);
    this.name = `Runtime.${name}`;
    if (cause?.stack) this.stack = cause.stack;
  }
}

// --- log ---------------------------------------------------------------------------------------

let requestId;

function patchConsole() {
  const write = (level) => (message, ...others) => {
    const line = `${new Date().toISOString()}\t${requestId}\t${level}\t${format(message, ...others)}`;
    process.stdout.write(line.replace(/\n/g, "\r") + "\n");
  };
  Object.assign(console, {
    trace: write("TRACE"), debug: write("DEBUG"), info: write("INFO"), log: write("INFO"),
    warn: write("WARN"), error: write("ERROR"), fatal: write("FATAL"),
  });
}

function logError(title, error) {
  const members = { errorType: error?.name, errorMessage: error?.message, stack: error?.stack?.split?.("\n") };
  try {
    console.error(title, "\t" + JSON.stringify(types.isNativeError(error) ? { ...members, ...error } : describe(error)));
  } catch {
    console.error(title, "\t" + JSON.stringify(describe(error)));
  }
}

// --- errors ------------------------------------------------------------------------------------

function describe(error) {
  const isText = (member) => typeof member === "string" && member;
  try {
    if (types.isNativeError(error) || (isText(error?.name) && isText(error?.message) && isText(error?.stack))) {
      return {
        errorType: String(error.name),
        errorMessage: String(error.message).slice(0, ERROR_CHARACTERS_MAX),
        trace: String(error.stack).slice(0, ERROR_CHARACTERS_MAX).split("\n"),
      };
    }
    return { errorType: typeof error, errorMessage: String(error).slice(0, ERROR_CHARACTERS_MAX), trace: [] };
  } catch {
    return {
      errorType: "handled",
      errorMessage: "callback called with Error argument, but there was a problem while retrieving one or more of its message, name, and stack",
    };
  }
}

// --- messages ----------------------------------------------------------------------------------

const socket = connect({ port: Number(port), host: "127.0.0.1", noDelay: true });

function frame(bytes) {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function send(head, body = "", sent = undefined) {
  const frames = [frame(Buffer.from(JSON.stringify(head))), frame(Buffer.from(body))];
  socket.write(Buffer.concat(frames), sent);
}

// Calls `onMessage(head, body)` for each message that has arrived whole.
function readMessages(onMessage) {
  let parts = [], received = 0, needed = 4;
  const sizeOf = (buffer) => {
    if (buffer.length < 4) return 4;
    const bodyAt = 4 + buffer.readUInt32BE(0);
    return buffer.length < bodyAt + 4 ? bodyAt + 4 : bodyAt + 4 + buffer.readUInt32BE(bodyAt);
  };
  socket.on("data", (part) => {
    parts.push(part);
    received += part.length;
    while (received >= needed) {
      const buffer = Buffer.concat(parts);
      const size = sizeOf(buffer);
      if (size <= buffer.length && buffer.length > 4) {
        const bodyAt = 4 + buffer.readUInt32BE(0);
        parts = [buffer.subarray(size)];
        received = buffer.length - size;
        needed = 4;
        onMessage(JSON.parse(buffer.subarray(4, bodyAt)), buffer.subarray(bodyAt + 4, size));
        if (!received) return;
      } else {
        parts = [buffer];
        needed = size;
      }
    }
  });
}

// --- the handler -------------------------------------------------------------------------------

function isModuleFolder(folder) {
  if (basename(folder) === "node_modules") return false;
  const description = join(folder, "package.json");
  if (existsSync(description)) {
    try {
      return JSON.parse(readFileSync(description)).type === "module";
    } catch {
      return false;
    }
  }
  return dirname(folder) !== folder && isModuleFolder(dirname(folder));
}

async function importModule(root, folder, name) {
  const path = resolve(root, folder, name);
  const isModule = isModuleFolder(dirname(path));
  if (existsSync(path + ".js")) return isModule ? import(pathToFileURL(path + ".js").href) : require(path + ".js");
  if (existsSync(path + ".mjs")) return import(pathToFileURL(path + ".mjs").href);
  if (existsSync(path + ".cjs")) return require(path + ".cjs");
  return require(require.resolve(folder ? "./" + join(folder, name) : name, { paths: [root] }));
}

async function loadHandler(root, handler) {
  if (handler.includes("..")) {
    throw new RuntimeError("MalformedHandlerName", `'${handler}' is not a valid handler name. Use absolute paths when specifying root directories in handler names.`);
  }
  const last = basename(handler);
  const [, name, property] = last.match(/^([^.]*)\.(.*)$/) ?? [];
  if (name === undefined) throw new RuntimeError("MalformedHandlerName", "Bad handler");
  let module;
  try {
    module = await importModule(root, handler.slice(0, handler.length - last.length), name);
  } catch (error) {
    if (error instanceof SyntaxError) throw new RuntimeError("UserCodeSyntaxError", String(error), error);
    const isMissing = error?.code === "MODULE_NOT_FOUND" || error?.code === "ERR_MODULE_NOT_FOUND";
    if (isMissing) throw new RuntimeError("ImportModuleError", String(error), error);
    throw error;
  }
  const found = property.split(".").reduce((object, key) => object?.[key], module);
  if (!found) throw new RuntimeError("HandlerNotFound", `${handler} is undefined or not exported`);
  if (typeof found !== "function") throw new RuntimeError("HandlerNotFound", `${handler} is not a function`);
  return found;
}

// The state of the invocation that runs; null between invocations.
let current = null;

function reply(invocation, head, body, sent) {
  if (current !== invocation) return;
  current = null;
  socket.ref();
  send({ ...head, requestId: invocation.requestId }, body, sent);
}

function fail(invocation, error, sent) {
  if (current !== invocation) return;
  logError("Invoke Error", error);
  reply(invocation, { kind: "error" }, JSON.stringify(describe(error)), sent);
}

function succeed(invocation, result) {
  if (current !== invocation) return;
  let text;
  try {
    text = JSON.stringify(result === undefined ? null : result) ?? "null";
  } catch {
    return fail(invocation, new Error("Unable to stringify response body"));
  }
  const size = Buffer.byteLength(text);
  if (size > invocation.replyBytesMax) return reply(invocation, { kind: "too-large" });
  reply(invocation, { kind: "result" }, text);
}

function makeContext(invocation) {
  const { env } = process;
  const deadline = performance.now() + invocation.timeoutMs;
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionVersion: env.AWS_LAMBDA_FUNCTION_VERSION,
    functionName: env.AWS_LAMBDA_FUNCTION_NAME,
    memoryLimitInMB: env.AWS_LAMBDA_FUNCTION_MEMORY_SIZE,
    logGroupName: env.AWS_LAMBDA_LOG_GROUP_NAME,
    logStreamName: env.AWS_LAMBDA_LOG_STREAM_NAME,
    clientContext: invocation.clientContext ? JSON.parse(invocation.clientContext) : undefined,
    identity: undefined,
    invokedFunctionArn: invocation.arn,
    awsRequestId: invocation.requestId,
    getRemainingTimeInMillis: () => Math.max(0, Math.floor(deadline - performance.now())),
    succeed: (result) => succeed(invocation, result),
    fail: (error) => fail(invocation, error ?? "handled"),
    done: (error, result) => (error == null ? succeed(invocation, result) : fail(invocation, error)),
  };
}

function runHandler(handler, invocation, payload) {
  current = invocation;
  requestId = invocation.requestId;
  globalThis[Symbol.for("aws.lambda.runtime.requestId")] = requestId;
  invocation.onEmptyLoop = () => succeed(invocation, null);
  socket.unref(); // so that an empty event loop is noticed while the handler runs
  try {
    const context = makeContext(invocation);
    const callback = (error, result) => {
      if (error != null) return fail(invocation, error);
      if (!context.callbackWaitsForEmptyEventLoop) return succeed(invocation, result);
      invocation.onEmptyLoop = () => succeed(invocation, result);
    };
    const result = handler(JSON.parse(payload), context, callback);
    if (typeof result?.then === "function") result.then(context.succeed, context.fail);
  } catch (error) {
    fail(invocation, error);
  }
}

function end(status) {
  return () => process.exit(status);
}

function endWith(title, error, status) {
  logError(title, error);
  if (current) return reply(current, { kind: "error" }, JSON.stringify(describe(error)), end(status));
  send({ kind: "init-error" }, JSON.stringify(describe(error)), end(status));
}

patchConsole();
socket.on("close", end(0));
socket.on("error", end(1));
process.on("beforeExit", () => current?.onEmptyLoop());
process.on("uncaughtException", (error) => endWith("Uncaught Exception", error, 129));
process.on("unhandledRejection", (reason) => {
  const error = new RuntimeError("UnhandledPromiseRejection", String(reason), reason);
  endWith("Unhandled Promise Rejection", Object.assign(error, { reason }), 128);
});
send({ kind: "hello", secret });
try {
  const handler = await loadHandler(process.env.LAMBDA_TASK_ROOT, process.env._HANDLER);
  readMessages((head, body) => runHandler(handler, head, body));
  send({ kind: "ready" });
} catch (error) {
  endWith("Uncaught Exception", error, 129);
}
