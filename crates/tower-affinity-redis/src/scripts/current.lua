-- Whether the row counts: that of `is_current`, before its JSON is looked at. All are numbers of fixed
-- width, which texts compare as they are. ARGV: the second that it is, the earliest one in which a
-- session can have begun that is not over, the latest one that a clock can show, and the greatest
-- revision that can be.
local issued, started = string.sub(text, 32, 51), string.sub(text, 52, 71)
local current = #text >= 117 and string.sub(text, 1, 1) == '1' and text ~= ARGV[3]
  and string.sub(text, 72, 91) > ARGV[8] and started >= ARGV[9]
  and issued <= ARGV[10] and started <= ARGV[10]
  and string.sub(text, 2, 21) <= ARGV[11]
