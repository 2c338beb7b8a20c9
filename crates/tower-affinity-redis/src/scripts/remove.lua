-- ARGV: the session whose row goes
local row = parse(text)
if row and row.session == ARGV[6] then
  redis.call('DEL', KEYS[1])
  on_set('ZREM', base .. row.label, member)
end
return 0
