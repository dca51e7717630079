/** How many other items one deletion may delete or change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, model, relation, string } from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'

const access = { read: anyone, create: anyone, delete: anyone }
const boxes = model({
  boxes: collection({ fields: { name: string() }, access }),
  things: collection({ fields: { box_id: relation('boxes', { onDelete: 'cascade' }) }, access }),
})

test('a deletion of more items than `quotas.cascade` allows is refused, and changes nothing', async () => {
  const service = await testService(boxes, { settings: { quotas: { cascade: 2 } } })
  try {
    for (const count of [2, 3]) {
      const { id } = await service.asSystem.boxes.create({ name: `with ${count}` })
      for (let thing = 0; thing < count; thing++) await service.asSystem.things.create({ box_id: id })
      const answer = await service.request(`DELETE /api/v1/boxes/${id}`)
      assert.equal(answer.status, count === 2 ? 204 : 409, answer.text)
      assert.equal(await service.asSystem.things.count(), count === 2 ? 0 : 3)
      if (count === 3) assert.match(answer.text, /more than 2 other items at once.*portico delete boxes 2/)
    }
  } finally {
    await service.close()
  }
})
