/** What one caller may store with idempotency keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { memoryCounters } from '../../../src/engine/cluster/memory-counters.ts'
import { createAllowance } from '../../../src/engine/idempotency/allowance.ts'

const maxUnits = 1_500_000
const unitCharacters = 2048

function open(scope = 'user:1') {
  const counters = memoryCounters()
  const used = () => maxUnits - counters.take(`idempotency:${scope}`, maxUnits, 0, 86_400).remaining
  return { ...createAllowance(counters), used }
}

test('a payload draws a unit for every 2,048 characters, and nothing if it was not stored', async () => {
  for (const [characters, units] of [
    [0, 0],
    [1, 1],
    [unitCharacters, 1],
    [unitCharacters + 1, 2],
    [10 * unitCharacters, 10],
  ] as const) {
    const { begin, end, used } = open()
    await begin('user:1')
    assert.equal(used(), 1)
    end('user:1', characters)
    assert.equal(used(), units, `${characters} characters`)
  }
})

test('long payloads are stored up to 64 MiB a day, of each caller', async () => {
  const { begin, end } = open()
  end('user:1', (32_767 + 1) * unitCharacters)
  assert.equal(await begin('user:1'), true)
  assert.equal(await begin('user:1'), false)
  assert.equal(await begin('user:2'), true)
})
