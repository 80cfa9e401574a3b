#!/usr/bin/env bash
# How does the action start the server? In the background, until the job ends; this script returns once the server answers.
# Reads ACTION_COMMAND, ACTION_PORT, ACTION_REGION and ACTION_ARGS. Writes `endpoint` and `log` to GITHUB_OUTPUT, and the
# variables by which AWS SDKs find the server to GITHUB_ENV. Prints the log and fails if the server ends before it answers.
set -euo pipefail

for name in PORT REGION; do
  variable=ACTION_$name
  if [[ ! "${!variable}" =~ ^[A-Za-z0-9-]+$ ]]; then
    echo "::error title=Hashrange::The input \`${name,,}\` is '${!variable//$'\n'/ }'; it takes letters, digits and hyphens."
    exit 1
  fi
done

folder=$(mktemp -d "${RUNNER_TEMP:?}/hashrange-XXXXXX")
log=$folder/hashrange.log
read -r -d '' -a words <<<"$ACTION_ARGS" || true
nohup "$ACTION_COMMAND" serve --port "$ACTION_PORT" ${words[@]+"${words[@]}"} >"$log" 2>&1 </dev/null &
server=$!
echo "$server" >"$folder/hashrange.pid"

fail() {
  echo "::error title=Hashrange::$1"
  echo "What the server printed ($log):"
  cat "$log"
  kill "$server" 2>/dev/null || true
  exit 1
}

# The server prints its endpoint once it serves. --insecure: the certificate of --tls-cert may be for another name.
endpoint=
until [ -n "$endpoint" ] && curl --silent --fail --insecure --max-time 5 --output /dev/null "$endpoint/"; do
  kill -0 "$server" 2>/dev/null || fail "The server did not start; what it printed tells why."
  [ "$SECONDS" -lt 120 ] || fail "The server did not answer within 120 seconds."
  sleep 0.05
  endpoint=$(sed -n -E 's/^Hashrange serves DynamoDB at (https?:\/\/[^, ]+),.*/\1/p' "$log")
done

{
  echo "endpoint=$endpoint"
  echo "log=$log"
} >>"$GITHUB_OUTPUT"
{
  echo "AWS_ENDPOINT_URL_DYNAMODB=$endpoint"
  echo "AWS_ENDPOINT_URL_DYNAMODB_STREAMS=$endpoint"
  echo "AWS_REGION=$ACTION_REGION"
  echo "AWS_DEFAULT_REGION=$ACTION_REGION"
  echo "AWS_ACCESS_KEY_ID=hashrange"
  echo "AWS_SECRET_ACCESS_KEY=hashrange"
} >>"$GITHUB_ENV"
echo "Hashrange serves DynamoDB at $endpoint."
