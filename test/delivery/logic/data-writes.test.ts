/** Writes by `data` that other clients' requests do not offer, on each database: by a service in this process. */
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { anyone, collection, integer, json, model, number, string, users } from '../../../src/index.ts'
import { type TestService, testService } from '../../../src/testing.ts'
import { databaseKinds } from '../../engine/store/databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const declared = model({
  users: users({}),
  rooms: collection({
    fields: {
      name: string(),
      seats: integer({ default: 10, min: -100, max: 100 }),
      price: number({ default: 0 }),
      about: json({ optional: true }),
    },
    updatedAt: true,
    access,
  }),
})

type Declared = typeof declared

for (const kind of databaseKinds) {
  describe(`writes by data on ${kind.name}`, () => {
    let service: TestService<Declared>
    let close: () => Promise<void>
    before(async () => {
      const opened = Promise.withResolvers<TestService<Declared>>()
      const ended = Promise.withResolvers<void>()
      const running = kind.within(async database => {
        await database.create()
        const settings = { database: database.url, rowSecurity: kind.name.endsWith('row security') }
        opened.resolve(await testService(declared, { settings }))
        await ended.promise
      })
      running.catch(opened.reject)
      service = await opened.promise
      close = async () => {
        await service.close()
        ended.resolve()
        await running
      }
    })
    after(() => close())

    const room = (values = {}) => service.asSystem.rooms.create({ name: 'a', ...values })

    it('a change that names the item as it was read is refused once that has changed', async () => {
      const { rooms } = service.asSystem
      const { id } = await room({ about: { size: [1, { x: null }] } })
      const [whole] = await rooms.list({ where: { id } })
      const part = await rooms.get(id, { fields: ['seats'] })
      assert.ok(whole && part)
      await rooms.update(id, { name: 'b' }, { ifMatch: whole })
      await assert.rejects(rooms.update(id, { name: 'c' }, { ifMatch: whole }), {
        code: 'PRECONDITION_FAILED',
      })
      await assert.rejects(rooms.delete(id, { ifMatch: whole }), { code: 'PRECONDITION_FAILED' })
      // The seats are as they were.
      const updated = await rooms.update(id, { seats: 9 }, { ifMatch: part })
      await assert.rejects(rooms.delete(id, { ifMatch: part }), { code: 'PRECONDITION_FAILED' })
      await rooms.delete(id, { ifMatch: updated })
      await assert.rejects(rooms.delete(id, { ifMatch: updated }), { code: 'NOT_FOUND' })
    })

    it('an item without fields to compare is a mistake', async () => {
      const { id } = await room()
      for (const ifMatch of [{}, { id }, null, 'tag', [1]] as never[])
        await assert.rejects(service.asSystem.rooms.update(id, { seats: 1 }, { ifMatch }), {
          code: 'BAD_REQUEST',
          message: /must be an item as it was read/,
        })
    })
  })
}
