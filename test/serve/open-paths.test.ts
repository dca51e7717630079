import assert from 'node:assert/strict'
import { test } from 'node:test'
import { singleNode } from '../../src/cluster/memory.ts'
import { ApiError } from '../../src/errors.ts'
import type { Exchange } from '../../src/http.ts'
import { openPaths } from '../../src/serve/open-paths.ts'
import type { Store } from '../../src/store/store.ts'

const fail = () => {
  throw new Error('disk I/O error')
}

for (const [how, ping] of [
  ['at once', fail],
  ['later', async () => fail()],
] as const) {
  test(`a database whose look fails ${how} makes the service not ready, which is no defect`, async () => {
    const store = { ping } as unknown as Store
    const paths = openPaths({
      store,
      cluster: singleNode(),
      figuresText: async () => '',
      state: { closing: false },
    })
    const ready = paths.get('/readyz')
    assert.ok(ready)
    const answer = async () => ready({ method: 'GET' } as Exchange)
    await assert.rejects(answer, (error: Error) => {
      assert.ok(error instanceof ApiError)
      assert.equal(error.code, 'UNAVAILABLE')
      return !error.message.includes('disk')
    })
  })
}
