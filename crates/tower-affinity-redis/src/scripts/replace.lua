-- ARGV: our row
local ours, row = parse(ARGV[6]), parse(text)
if not (current and row) then
  write(ARGV[6], ours, ours.expires, row)
  return stored(ours.expires, text)
end
local function group(row) return string.match(row.label, '^[^@]*') end
local later = row.session == ours.session
  and (ours.rank > row.rank or (ours.rank == row.rank and group(ours) == group(row)))
if not later then return kept(text) end
local expires = math.max(ours.expires, row.expires)
write(dated(ours, ours.issued, expires) or ARGV[6], ours, expires, row)
return stored(expires, '')
