-- ARGV: our row
local text, ours = ARGV[6], parse(ARGV[6])
local before, row = look()
if not stands(before, row) then
  write(text, ours, ours.expires, row)
  return stored(ours.expires, before)
end
local function group(row) return string.match(row.label, '^[^@]*') end
local later = row.session == ours.session
  and (ours.rank > row.rank or (ours.rank == row.rank and group(ours) == group(row)))
if not later then return kept(before) end
local expires = math.max(ours.expires, row.expires)
write(dated(ours, ours.issued, expires) or text, ours, expires, row)
return stored(expires, '')
