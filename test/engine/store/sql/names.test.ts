/** Names in a model that are like those that Portico's statements and tables use. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { system, user } from '../../../../src/base/principal.ts'
import type { CreateShape, ListShape } from '../../../../src/engine/plan/plan.ts'
import type { Store } from '../../../../src/engine/store/store.ts'
import { anyone, collection, model, owner, related, relation, string, text } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { CollectionOptions } from '../../../../src/model/declaration.ts'
import type { Model } from '../../../../src/model/model.ts'
import { Client, fields, listOfPosts, parsed } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

/** Collections named like the aliases in statements. */
const linked = checkModel(
  model({
    refs: collection({
      access,
      fields: { name: string(), ref_id: relation('refs', { optional: true, inverse: 'refs' }) },
    }),
    t1: collection({
      singular: 't',
      access,
      fields: {
        owner_id: relation('users'),
        parent_id: relation('t1', { optional: true }),
        note: text({ optional: true, access: { write: related('parent', owner('owner_id')) } }),
      },
    }),
  }),
)

const searched = {
  title: text({ searchable: true }),
  content: text({ optional: true, searchable: true }),
}

/** A model with collections named like the tables in which SQLite keeps the search index of `site`. */
function shadowing(configuration: CollectionOptions['fields']): Model {
  return checkModel(
    model({
      site: collection({ singular: 'one_site', access, fields: searched }),
      site_data: collection({ singular: 'datum', access, fields: searched }),
      site_config: collection({ singular: 'setting', access, fields: configuration }),
    }),
  )
}

const words: ListShape = {
  ...listOfPosts,
  search: 0,
  window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
  select: fields('title'),
}

async function requireSearch(store: Store, all: Model): Promise<void> {
  const client = new Client(store, all)
  for (const name of ['site', 'site_data']) {
    const { id } = await client.create(name, { title: 'first word', content: 'other' })
    await client.update(name, id, { title: 'second word' })
    const find = async (word: string) =>
      (await client.list({ ...words, collection: name }, [word, 0, 10])).items
    assert.deepEqual(await find('second'), [{ title: 'second word' }])
    assert.deepEqual(await find('other'), [{ title: 'second word' }])
    assert.deepEqual(await find('first'), [])
    const filter = { kind: 'compare', field: 'title', operator: 'in', param: 0 } as const
    const among: ListShape = { ...words, collection: name, search: undefined, filter }
    assert.equal((await client.list(among, [['second word', 'x'], 0, 10])).items?.length, 1)
    await client.remove(name, id)
  }
}

for (const { name, within } of databaseKinds) {
  describe(name, () => {
    test('collections can be named like aliases in statements', () =>
      within(async database => {
        const store = await database.open(linked)
        const client = new Client(store, linked)
        const { id } = await client.create('refs', { name: 'one' })
        const shape: CreateShape = {
          kind: 'create',
          collection: 'refs',
          set: [
            { field: 'name', param: 0 },
            { field: 'ref_id', param: 1 },
          ],
          computed: [],
          select: [
            ...fields('name'),
            { kind: 'relation', key: 'ref', relation: 'ref', select: fields('name'), list: undefined },
          ],
        }
        const { text } = await client.write({ shape, args: ['two', id] }, system)
        assert.deepEqual(parsed(text), { name: 'two', ref: { name: 'one' } })
        for (const name of ['ann', 'bob']) {
          await client.create('users', { name, email: `${name}@example.com` })
        }
        const root = await client.create('t1', { owner_id: 1 })
        const values = { owner_id: 2, parent_id: root.id }
        const child = await client.create('t1', { ...values, note: 'kept' })
        const note = async () => (await client.item('t1', child.id)) as { note: unknown }
        // A replacement clears an omitted field only if the caller may write it: the owner of the parent.
        await client.replace('t1', child.id, values, user(2, 'user', 'all'))
        assert.equal((await note()).note, 'kept')
        await client.replace('t1', child.id, values, user(1, 'user', 'all'))
        assert.equal((await note()).note, null)
        await store.close()
      }))

    test('collections can be named like the tables of a search index', () =>
      within(async database => {
        const first = await database.open(shadowing({ title: text() }))
        await requireSearch(first, shadowing({ title: text() }))
        await first.close()
        // Rebuilding one collection must not change the search index of another.
        const more = shadowing({ title: text(), more: text({ default: 'x' }) })
        const second = await database.open(more)
        await requireSearch(second, more)
        await second.close()
      }))
  })
}
