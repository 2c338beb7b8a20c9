-- By far the most claims find a row that stands and is not due for a touch: nothing else is made for
-- them. ARGV: what was issued after that second is not due.
if current and issued > ARGV[12] then return {1, text, ''} end
