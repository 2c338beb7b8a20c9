-- What claim, replace and remove begin with. KEYS: the row, the labels of its bucket. ARGV: what the
-- sets of the bucket begin with, the row's member in them, a row that was read and does not count, the
-- time and the greatest age of a session in milliseconds; the others are told where they are used.
-- A set's name follows from a label; it has the tag of the keys, so it lies in their slot.

-- what lies there, cut to what can be a row
local text = redis.pcall('GETRANGE', KEYS[1], 0, 8191)
-- a value of another type
if type(text) ~= 'string' then text = '?' end
