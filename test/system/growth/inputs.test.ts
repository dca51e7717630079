/** No input makes a parser, pattern, normalisation or schema check take more than linear time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inputs } from './inputs.ts'
import { growthFault } from './measure.ts'

test('the inputs have different names', () => {
  assert.equal(new Set(inputs.map(({ name }) => name)).size, inputs.length)
})

for (const [group, members] of Map.groupBy(inputs, ({ name }) => name.split(':')[0])) {
  test(`${group} takes linear time`, async () => {
    for (const input of members) assert.equal(await growthFault(input), undefined)
  })
}
