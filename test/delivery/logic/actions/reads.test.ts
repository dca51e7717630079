/** Uncommitted changes of an action are neither visible to other readers nor cached for them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { action, collection, integer, model, signedIn } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { databaseKinds, openStore } from '../../../api/contract/rest/databases.ts'
import { openHarness } from '../../../api/contract/rest/harness.ts'

// biome-ignore lint/suspicious/noExplicitAny: only generated types describe the arguments of `run`.
type Data = Record<string, any>

const open = { read: signedIn, create: signedIn, update: signedIn, delete: signedIn }
const declared = checkModel(
  model(
    { cells: collection({ fields: { value: integer() }, access: open }) },
    {
      actions: {
        flicker: action({
          on: 'cells',
          input: { fails: integer() },
          access: signedIn,
          run: async ({ item, input, data }: Data) => {
            await data.cells.update(item.id, { value: -1 })
            await data.cells.create({ value: -1 })
            for (let reads = 0; reads < 5; reads++) assert.equal((await data.cells.get(item.id)).value, -1)
            assert.equal(await data.cells.count({ value: -1 }), 2)
            if (input.fails === 1) throw new Error('undone')
            for await (const { id } of data.cells.all({ where: { value: -1, id: { ne: item.id } } })) {
              await data.cells.delete(id)
            }
            await data.cells.update(item.id, { value: item.value + 1 })
          },
        }),
      },
    },
  ),
)
const ann = user(1, 'user', 'all')
const rounds = 40

for (const kind of databaseKinds) {
  test(`uncommitted changes of an action are invisible to other readers on ${kind.name}`, async () => {
    const harness = await openHarness(declared, model => openStore(kind, model))
    try {
      const id = await harness.seed('cells', { value: 0 })
      const get = async (url: string) => {
        const { status, body } = await harness.send({ url: `/api/v1${url}` }, ann)
        assert.equal(status, 200, String(body))
        return JSON.parse(String(body))
      }
      let isOver = false
      const values = new Set<number>()
      let reads = 0
      const readUntilOver = async () => {
        while (!isOver) {
          values.add((await get(`/cells/${id}`)).value)
          const { data, meta } = await get('/cells')
          assert.deepEqual([data.length, meta.total], [1, 1])
          values.add(data[0].value)
          reads++
          await new Promise(resolve => setImmediate(resolve))
        }
      }
      const flicker = async () => {
        for (let round = 0; round < rounds; round++) {
          const request = {
            method: 'POST',
            url: `/api/v1/cells/${id}/flicker`,
            body: { fails: round % 2 },
          }
          const { status, body } = await harness.send(request, ann)
          assert.equal(status, round % 2 === 1 ? 500 : 204, String(body))
          // On a busy machine, all rounds could be over before a reader gets its turn.
          const before = reads
          while (reads === before && !isOver) await new Promise(resolve => setImmediate(resolve))
        }
      }
      const end = () => {
        isOver = true
      }
      const readers = Array.from({ length: 4 }, () => readUntilOver().finally(end))
      const ended = await Promise.allSettled([flicker().finally(end), ...readers])
      for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason
      assert.equal((await get(`/cells/${id}`)).value, rounds / 2)
      assert.ok(values.size > 1, 'the readers saw changes')
      assert.ok(!values.has(-1))
    } finally {
      await harness.close()
    }
  })
}
