-- The live rows of one bucket by label. KEYS: its labels. ARGV: what its sets begin with, the time in
-- seconds, and up to when those that have ended go. What goes is no longer counted anyway, so a
-- bound of it harms nothing; and what nobody looks after any more ends by itself.
local counted, longest = {}, 0
for _, label in ipairs(on_set('SMEMBERS', KEYS[1])) do
  local set = ARGV[1] .. label
  local over = on_set('ZRANGE', set, '-inf', ARGV[3], 'BYSCORE', 'LIMIT', 0, 1000)
  if #over > 0 then redis.call('ZREM', set, unpack(over)) end
  local last = redis.call('ZRANGE', set, 0, 0, 'REV', 'WITHSCORES')
  if #last == 0 then
    redis.call('SREM', KEYS[1], label)
  else
    local kept = math.min(math.max(tonumber(last[2]) - tonumber(ARGV[2]), 0), 315360000) + 3600
    longest = math.max(longest, kept)
    redis.call('EXPIRE', set, kept)
    counted[#counted + 1] = label
    counted[#counted + 1] = redis.call('ZCOUNT', set, '(' .. ARGV[2], '+inf')
  end
end
if longest > 0 then redis.call('EXPIRE', KEYS[1], longest) end
return counted
