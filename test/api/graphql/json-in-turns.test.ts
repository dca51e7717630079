/** Large replies are written as JSON in several turns of the event loop, and are the same text. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { jsonInTurns } from '../../../src/api/graphql/execute/json-in-turns.ts'

test('the text is that of JSON.stringify', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue({ maxDepth: 6 }), async value => {
      // JSON has no -0.
      const data: unknown = JSON.parse(JSON.stringify(value))
      assert.equal(await jsonInTurns(data), JSON.stringify(data))
    }),
  )
  const withoutPrototype = Object.assign(Object.create(null), { list: [], object: {}, '"': [[{ a: '雪' }]] })
  assert.equal(await jsonInTurns(withoutPrototype), JSON.stringify(withoutPrototype))
})

test('other work has turns while a long list is written', async () => {
  const items = Array.from({ length: 200 }, (_, id) => ({ id, body: '雪"'.repeat(20_000) }))
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  const text = await jsonInTurns({ items })
  isOver = true
  assert.ok(turns > 3, `${turns} turns`)
  assert.ok(text === JSON.stringify({ items }))
})
