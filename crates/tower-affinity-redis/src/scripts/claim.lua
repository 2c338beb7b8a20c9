-- ARGV: our row, the idle lifetime in milliseconds
local ours, idle, row = parse(ARGV[6]), tonumber(ARGV[7]), parse(text)
if not (current and row) then
  write(ARGV[6], ours, ours.expires, row)
  return stored(ours.expires, text)
end
local last = row.started + math.floor(age / 1000)
if row.expires >= last then return kept(text) end
local again = math.max(seconds, row.issued)
local expires = math.max(row.expires, math.min(again + math.floor(idle / 1000), last))
local touched = dated(row, again, expires)
if not touched then return kept(text) end
write(touched, row, expires, row)
return kept(touched)
