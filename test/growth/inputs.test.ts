/** No input makes any parser, pattern, normalisation or schema take longer than in proportion to its size. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputs } from './inputs.ts'
import { growthFault } from './measure.ts'

test('the rows have different names', () => {
  assert.equal(new Set(inputs.map(({ name }) => name)).size, inputs.length)
})

for (const [group, members] of Map.groupBy(inputs, ({ name }) => name.split(':')[0])) {
  test(`${group} takes time in proportion to its size`, async () => {
    for (const input of members) assert.equal(await growthFault(input), undefined)
  })
}
