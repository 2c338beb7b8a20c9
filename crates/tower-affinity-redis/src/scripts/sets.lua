-- A command on a key that holds one of our sets. A value of another type is somebody else's: it goes,
-- or nothing would be counted there any more. Any other error ends the script.
local function on_set(command, key, ...)
  local answer = redis.pcall(command, key, ...)
  if type(answer) ~= 'table' or not answer.err then return answer end
  if string.find(answer.err, 'WRONGTYPE', 1, true) then redis.call('DEL', key) end
  return redis.call(command, key, ...)
end
