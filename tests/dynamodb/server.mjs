// DynamoDB for tests: dynalite on a port of loopback, and the one thing that it lacks of what the
// store asks for. `node server.mjs PORT [untold]`: with `untold` it keeps lacking it.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const [port, untold] = process.argv.slice(2)

// ReturnValuesOnConditionCheckFailure: a condition that is refused tells which item stands. It is
// looked at under the same lock as the condition.
if (untold === undefined) {
  const db = require('dynalite/db')
  const { types } = require('dynalite/validations/putItem')
  types.ReturnValuesOnConditionCheckFailure = { type: 'String', enum: ['ALL_OLD', 'NONE'] }
  const check = db.checkConditional
  db.checkConditional = (data, item) => {
    const refused = check(data, item)
    if (refused && item && data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD') {
      refused.body.Item = item
    }
    return refused
  }
}

const dynalite = require('dynalite')
dynalite({ createTableMs: 0, deleteTableMs: 0 }).listen(Number(port), '127.0.0.1')
