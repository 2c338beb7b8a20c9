-- How rows are taken apart and written.
local base, member = ARGV[1], ARGV[2]
local now, age = tonumber(ARGV[4]), tonumber(ARGV[5])
local seconds = math.floor(now / 1000)

-- the parts of a row; see row.rs
local function parse(text)
  if type(text) ~= 'string' or string.sub(text, 1, 1) ~= '1' then return nil end
  local length = tonumber(string.sub(text, 114, 117))
  local row = {
    rank = string.sub(text, 2, 51),
    issued = tonumber(string.sub(text, 32, 51)),
    started = tonumber(string.sub(text, 52, 71)),
    expires = tonumber(string.sub(text, 72, 91)),
    session = string.sub(text, 92, 113),
  }
  if not (length and row.issued and row.started and row.expires) then return nil end
  row.label = string.sub(text, 118, 117 + length)
  row.json = string.sub(text, 118 + length)
  return row
end

-- the same row with other times; nil if its JSON does not tell those of its head
local function dated(row, issued, expires)
  local times = '"iat":%.0f,"exp":%.0f'
  local from, to = string.find(row.json, string.format(times, row.issued, row.expires), 1, true)
  if not from then return nil end
  return '1' .. string.sub(row.rank, 1, 30)
    .. string.format('%020.0f%020.0f%020.0f', issued, row.started, expires)
    .. row.session .. string.format('%04.0f', #row.label) .. row.label
    .. string.sub(row.json, 1, from - 1) .. string.format(times, issued, expires)
    .. string.sub(row.json, to + 1)
end

-- writes a row and counts it in place of the old one; it is kept for a while after its end, since
-- the clocks of replicas differ
local function write(text, row, expires, old)
  if old and old.label ~= row.label then on_set('ZREM', base .. old.label, member) end
  local kept = math.min(math.max(expires - seconds, 0), 315360000) + 600
  redis.call('SET', KEYS[1], text, 'EX', kept)
  on_set('ZADD', base .. row.label, expires, member)
  on_set('SADD', KEYS[2], row.label)
end

-- answers: that ours was stored, when it ends, and what lay there without counting
local function stored(expires, before)
  if before == ARGV[3] then before = '' end
  return {0, string.format('%.0f', expires), before}
end

-- answers: that another row stands
local function kept(text)
  return {1, text, ''}
end
