/** Tests of a product end, whatever its reactions do. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, model, on, string } from '../../../src/index.ts'
import { testService } from '../../../src/testing.ts'

const stuck = model(
  {
    notes: collection({ fields: { title: string() }, access: { read: anyone, create: anyone } }),
  },
  { reactions: { stuck: on('note.created', () => new Promise(() => {})) } },
)

test('a service with a reaction that never ends closes within seconds', async () => {
  const service = await testService(stuck)
  await service.asSystem.notes.create({ title: 'x' })
  const settled = service.settled()
  settled.catch(() => undefined)
  await new Promise(resolve => setTimeout(resolve, 100))
  await service.close()
  await assert.rejects(settled, /The service is closed/)
})

test('a reaction that takes longer than its limit in real time has failed, although the clock of the test stands still', async () => {
  const service = await testService(stuck, { settings: { reactions: { timeout: '1 s' } } })
  await service.asSystem.notes.create({ title: 'x' })
  await service.settled()
  await service.close()
})

test('settled() after close() rejects', async () => {
  const service = await testService(stuck)
  await service.close()
  await assert.rejects(service.settled(), /The service is closed/)
})
