/** The rows of objects follow the fields that they name. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { anyone, collection, file, model, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { migrationDatabases } from '../../setups/databases/migrations.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }
const optional = { optional: true } as const

const first = checkModel(
  model({
    photos: collection({ fields: { image: file(optional), thumb: file(optional) }, access }),
    papers: collection({ fields: { scan: file(optional) }, access }),
  }),
)

const renamed = checkModel(
  model({
    pictures: collection({
      renamedFrom: 'photos',
      fields: { full: file({ ...optional, renamedFrom: 'image' }), thumb: file(optional) },
      access,
    }),
    papers: collection({ fields: { scan: file(optional) }, access }),
  }),
)

const dropped = checkModel(
  model({
    pictures: collection({ fields: { full: file(optional), title: string(optional) }, access }),
  }),
)

const none = checkModel(model({ pictures: collection({ fields: { title: string(optional) }, access }) }))

for (const database of migrationDatabases) {
  test(`${database.name}: renamed fields and collections keep their files, dropped ones lose them`, () =>
    database.withEmpty(async location => {
      const apply = (next: typeof first) => database.apply(location, next, { allowDestructive: true })
      const rows = async () =>
        (
          await database.rows(location, 'SELECT "collection", "field", "state" FROM "uploads" ORDER BY "id"')
        ).map(row => row.join(' '))
      await apply(first)
      const fields = ['photos image', 'photos thumb', 'papers scan']
      for (const [n, field] of fields.entries()) {
        const [of, name] = field.split(' ')
        await database.run(
          location,
          `INSERT INTO "uploads" ("key", "state", "name", "collection", "field", "item_id", "created_at") VALUES ('k${n}', 'live', 'a', '${of}', '${name}', 1, '2026-01-01T00:00:00.000Z')`,
        )
      }
      const steps = await apply(renamed)
      assert.ok(steps.some(({ sentence }) => sentence === 'Keep the files of photos.image, photos.thumb.'))
      assert.deepEqual(await rows(), ['pictures full live', 'pictures thumb live', 'papers scan live'])
      const drops = await apply(dropped)
      assert.ok(
        drops.some(({ sentence, destructive }) => destructive && /^Delete the files of/.test(sentence)),
      )
      assert.deepEqual(await rows(), ['pictures full live', 'pictures thumb deleted', 'papers scan deleted'])
      const ended = await database.rows(location, 'SELECT "ended_at" FROM "uploads" WHERE "id" > 1')
      for (const [time] of ended) assert.match(String(time), /^20\d\d-\d\d-\d\dT[\d:.]+Z$/)
      // Without a field for files, the rows go with their collection.
      await apply(none)
      await database.assertConsistent(location)
    }))
}
