// How does a JavaScript handler run in a process of its own? This file is that process's program, under Node.js 18 or later.
//
// functions/environment.py starts it and functions/connection.py describes the messages. What it returns, logs and calls
// errors is what Lambda's runtime for Node.js does. Source: the public aws-lambda-nodejs-runtime-interface-client, 2026.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { connect } from "node:net";
import { basename, dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { format, types } from "node:util";

const require = createRequire(import.meta.url);
const ERROR_CHARACTERS_MAX = 256 * 1024;
const PLACE_MILLISECONDS_MAX = 5000;
const EVENT_BYTES_MAX = 4 * ERROR_CHARACTERS_MAX;
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

function makeLine(level, message, ...others) {
  const line = `${new Date().toISOString()}\t${requestId}\t${level}\t${format(message, ...others)}`;
  return line.replace(/\n/g, "\r") + "\n";
}

function patchConsole() {
  const write = (level) => (...words) => process.stdout.write(makeLine(level, ...words));
  Object.assign(console, {
    trace: write("TRACE"), debug: write("DEBUG"), info: write("INFO"), log: write("INFO"),
    warn: write("WARN"), error: write("ERROR"), fatal: write("FATAL"),
  });
}

// The event of an error, as Lambda logs it. The server writes it to the log.
function makeEvent(title, error) {
  try {
    const members = { errorType: error?.name, errorMessage: error?.message, stack: error?.stack?.split?.("\n") };
    const event = types.isNativeError(error) ? { ...members, ...error } : describe(error);
    return makeLine("ERROR", title, "\t" + JSON.stringify(event));
  } catch {
    return makeLine("ERROR", title, "\t" + JSON.stringify(describe(error)));
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

// Sends a message about an error, whose body is the error and its event.
function sendError(head, title, error, sent = undefined) {
  const event = Buffer.from(makeEvent(title, error)).subarray(0, EVENT_BYTES_MAX);
  send({ ...head, eventBytes: event.length }, Buffer.concat([Buffer.from(JSON.stringify(describe(error))), event]), sent);
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

// The URL of the handler's module, once it has been asked for by import().
let importedUrl;

function importFile(path) {
  importedUrl = pathToFileURL(path).href;
  return import(importedUrl);
}

// Puts file and line before the stack of a syntax error. require() does so itself; of import(), Node.js only tells the place when
// nothing catches the error. A module with such an error, or that imports one, does not run there either.
function addPlace(error) {
  if (!importedUrl || /^(?!.*(node:|node_runtime)).*\.[cm]?[jt]s:\d/m.test(error.stack)) return;
  const code = `await import(${JSON.stringify(importedUrl)})`;
  const options = { encoding: "utf8", stdio: ["ignore", "ignore", "pipe"], timeout: PLACE_MILLISECONDS_MAX, maxBuffer: ERROR_CHARACTERS_MAX };
  const said = spawnSync(process.execPath, ["--input-type=module", "--eval", code], options).stderr ?? "";
  const [place] = /^.*\.[cm]?[jt]s:\d+\n[^]*?(?=^\w*Error)/m.exec(said) ?? [];
  if (place) error.stack = place + error.stack;
}

async function importModule(root, folder, name) {
  const path = resolve(root, folder, name);
  const isModule = isModuleFolder(dirname(path));
  if (existsSync(path + ".js")) return isModule ? importFile(path + ".js") : require(path + ".js");
  if (existsSync(path + ".mjs")) return importFile(path + ".mjs");
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
    if (error instanceof SyntaxError) addPlace(error);
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

let isLoaded = false;

// The state of the invocation that runs; null between invocations.
let current = null;

function reply(invocation, head, body) {
  if (current !== invocation) return;
  current = null;
  socket.ref();
  send({ ...head, requestId: invocation.requestId }, body);
}

function fail(invocation, error, title = "Invoke Error", sent = undefined) {
  if (current !== invocation) return;
  current = null;
  socket.ref();
  sendError({ kind: "error", requestId: invocation.requestId }, title, error, sent);
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
  if (current) return fail(current, error, title, end(status));
  if (!isLoaded) return sendError({ kind: "init-error" }, title, error, end(status));
  process.stdout.write(makeEvent(title, error), end(status)); // between invocations, when the server awaits no message
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
  isLoaded = true;
  send({ kind: "ready" });
} catch (error) {
  endWith("Uncaught Exception", error, 129);
}
