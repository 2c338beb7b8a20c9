-- ARGV: our row, the idle lifetime in milliseconds
local ours, idle = parse(ARGV[6]), tonumber(ARGV[7])
local text, row = look()
if not stands(text, row) then
  write(ARGV[6], ours, ours.expires, row)
  return stored(ours.expires, text)
end
local last = row.started + math.floor(age / 1000)
if now - row.issued * 1000 < idle / 4 or row.expires >= last then return kept(text) end
local issued = math.max(seconds, row.issued)
local expires = math.max(row.expires, math.min(issued + math.floor(idle / 1000), last))
local touched = dated(row, issued, expires)
if not touched then return kept(text) end
write(touched, row, expires, row)
return kept(touched)
