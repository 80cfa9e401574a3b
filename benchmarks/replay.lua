-- Replays prepared requests in a circle: `wrk … -s replay.lua URL -- FILE`. Ends with one line of JSON for the harness.
-- The file holds, per request, its length in decimal, a line feed, and its bytes. The next run goes on where this one stopped (FILE.place):
-- one that began again would first replace items by what they are already.

file_name, place = "", 0 -- global: `done` asks the thread for them
local requests, count = {}, 0
local thread

function setup(started)
  thread = started
end

function init(arguments)
  file_name = arguments[1]
  local file = assert(io.open(file_name, "rb"))
  while true do
    local length = file:read("*n")
    if not length then break end
    file:read(1)
    count = count + 1
    requests[count] = file:read(length)
  end
  file:close()
  assert(count > 0, "no requests in " .. file_name)
  local last = io.open(file_name .. ".place")
  if last then
    place = last:read("*n") % count
    last:close()
  end
end

function request()
  place = place + 1
  if place > count then place = 1 end
  return requests[place]
end

function done(summary, latency)
  local last = assert(io.open(thread:get("file_name") .. ".place", "w"))
  last:write(thread:get("place"))
  last:close()
  local errors = summary.errors
  io.write(string.format(
    '\nREPORT {"requests": %d, "duration_us": %d, "refused": %d, "broken": %d, "p50_us": %d, "p99_us": %d, "p999_us": %d, "max_us": %d}\n',
    summary.requests, summary.duration, errors.status, errors.connect + errors.read + errors.write + errors.timeout,
    latency:percentile(50), latency:percentile(99), latency:percentile(99.9), latency.max))
end
