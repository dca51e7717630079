/** An export that waits for its budget when the service stops. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, checkModel, collection, integer, model } from '../../../src/index.ts'
import { readSettings } from '../../../src/server/config/config.ts'
import { start } from '../../../src/server/serve/serve.ts'
import { secretKey } from '../../setups/postgres.ts'

const numbers = checkModel(
  model({ numbers: collection({ fields: { n: integer() }, access: { read: anyone } }) }),
)

test('an export that waits for its budget breaks off at once when the service stops', async () => {
  const given = {
    ...{ port: 0, host: '127.0.0.1', logLevel: 'silent', secretKeys: [secretKey] },
    // Far more than 3 requests for 20 rows each: it waits, in whatever minute. Without its end, the stop would last an hour.
    ...{ rateLimit: { user: 3, address: 3 }, shutdown: { grace: '1 h' } },
  } as const
  const service = await start(numbers, { ...readSettings({ given }), database: ':memory:' })
  const { data } = service
  await data.transaction(async inner => {
    for (let n = 0; n < 500; n++) await inner['numbers']?.create({ n })
  })
  const response = await fetch(`${service.url}/api/v1/numbers`, { headers: { accept: 'text/csv' } })
  assert.equal(response.status, 200)
  const reader = response.body?.getReader()
  const first = await reader?.read()
  assert.match(new TextDecoder().decode(first?.value), /^id,n,/)
  const rest = (async () => {
    for (;;) if ((await reader?.read())?.done) return
  })()
  await Promise.all([assert.rejects(rest), service.close()])
})
