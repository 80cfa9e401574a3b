-- Replays prepared requests in a circle: `wrk … -s replay.lua URL -- FILE`. Ends with one line of JSON for the harness.
-- The file holds, per request, its length in decimal, a line feed, and its bytes.

local requests, count, place = {}, 0, 0

function init(arguments)
  local file = assert(io.open(arguments[1], "rb"))
  while true do
    local length = file:read("*n")
    if not length then break end
    file:read(1)
    count = count + 1
    requests[count] = file:read(length)
  end
  file:close()
  assert(count > 0, "no requests in " .. arguments[1])
end

function request()
  place = place + 1
  if place > count then place = 1 end
  return requests[place]
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nREPORT {"requests": %d, "duration_us": %d, "refused": %d, "broken": %d, "p50_us": %d, "p99_us": %d, "p999_us": %d, "max_us": %d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
