/** Rolling upgrades: nodes of an older and a newer model write to one database during an additive migration. */
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { collection, model, string, unique, uuid } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { Collection, Model } from '../../../../src/model/model.ts'
import { type MigrationDatabase, migrationDatabases } from '../../../setups/databases/migrations.ts'
import { until } from '../../../setups/databases/replicated.ts'
import { blog, Client, fields, listOfPosts } from '../blog.ts'
import { access, books, plain, title, unchangedFields } from './migration-cases.ts'
import { added, newer, newerUnsearched, older } from './rolling-models.ts'

const program = fileURLToPath(new URL('old-node.ts', import.meta.url))

interface Report {
  readonly writes: number
  readonly failures: readonly (readonly [string, number])[]
}

async function request(child: ChildProcess, message: 'report' | 'stop'): Promise<Report> {
  const answer = once(child, 'message')
  child.send(message)
  return (await answer)[0]
}

async function untilWritten(child: ChildProcess, more: number): Promise<void> {
  const { writes } = await request(child, 'report')
  await until('the old node writes', async () => {
    const report = await request(child, 'report')
    return report.writes + report.failures.length > writes + more
  })
}

function requireAdded(item: Readonly<Record<string, unknown>>): void {
  for (const [name, is] of Object.entries(added)) {
    if (is instanceof RegExp) assert.match(String(item[name]), is, name)
    else assert.deepEqual(item[name], is, name)
  }
}

const listOfNotes = {
  ...listOfPosts,
  collection: 'notes',
  select: fields('id', 'title', ...Object.keys(added)),
}

/** The model without these fields. */
function without(model: Model, fields: Readonly<Record<string, readonly string[]>>): Model {
  const collections = [...model.collections].map(([name, collection]): [string, Collection] => {
    const fieldsKept = [...collection.fields].filter(([field]) => !fields[name]?.includes(field))
    return [name, { ...collection, fields: new Map(fieldsKept) }]
  })
  return { ...model, collections: new Map(collections) }
}

async function testRolling(database: MigrationDatabase, location: string): Promise<void> {
  const first = await database.open(location, older)
  await new Client(first, older).create('notes', { title: 'the first' })
  await first.close()
  const child = fork(program, [location])
  try {
    await once(child, 'message')
    await untilWritten(child, 20)
    const store = await database.open(location, newer)
    const client = new Client(store, newer)
    await untilWritten(child, 50)
    const { id } = await client.create('notes', { title: 'of the new node', words: 'of its own' })
    await client.update('notes', id, { stars: 2, rank: 9 })
    await untilWritten(child, 50)
    const { failures } = await request(child, 'stop')
    assert.deepEqual(failures, [])
    await once(child, 'exit')
    const { items, total } = await client.list(listOfNotes, [0, 10_000])
    assert.equal(total, items?.length)
    for (const item of items ?? []) if (item.id !== id) requireAdded(item)
    const matches = await client.list({ ...listOfNotes, search: 2 }, [0, 10_000, 'old node'])
    assert.equal(matches.items?.length, (items?.length ?? 0) - 2)
    await store.close()
    await database.assertConsistent(location)
    assert.deepEqual(await database.plan(location, newer), [])
  } finally {
    child.kill('SIGKILL')
  }
}

for (const database of migrationDatabases) {
  describe(database.name, () => {
    test('a node of the older model writes before, during and after an additive migration', () =>
      database.withEmpty(location => testRolling(database, location)))

    test('an older model starts with new fields with defaults, and its items get the defaults', () =>
      database.withEmpty(async location => {
        await (await database.open(location, newerUnsearched)).close()
        const store = await database.open(location, older, false)
        await new Client(store, older).create('notes', { title: 'of the old node' })
        await store.close()
        const next = await database.open(location, newerUnsearched)
        const { items } = await new Client(next, newerUnsearched).list(listOfNotes, [0, 9])
        assert.equal(items?.length, 1)
        requireAdded(items?.[0] ?? {})
        await next.close()
      }))

    test('after an upgrade of a version without disabled accounts, every account is enabled and the last administrator is protected', () =>
      database.withEmpty(async location => {
        const before = without(blog, { users: ['disabled'], api_keys: ['third_party'] })
        const first = await database.open(location, before)
        const person = { name: 'Ann', email: 'ann@example.com', role: 'admin' }
        const ann = await new Client(first, before).create('users', person)
        const values = { user_id: ann.id, name: 'k', prefix: 'pk_', hash: 'h' }
        await new Client(first, before).create('api_keys', values)
        await first.close()
        const store = await database.open(location, blog)
        const client = new Client(store, blog)
        const isDisabled = async (id: number) => Object(await client.item('users', id)).disabled
        assert.equal(await isDisabled(ann.id), false)
        await assert.rejects(client.update('users', ann.id, { disabled: true }), /without an enabled admin/)
        const old = await database.open(location, before, false)
        const ben = await new Client(old, before).create('users', { ...person, email: 'ben@example.com' })
        await old.close()
        assert.equal(await isDisabled(ben.id), false)
        await client.update('users', ann.id, { disabled: true })
        await store.close()
        assert.deepEqual(await database.plan(location, blog), [])
        await database.assertConsistent(location)
      }))

    test('an older model does not start with a required field whose default exists only in the model', () =>
      database.withEmpty(async location => {
        const required = { fields: { title, code: string() } }
        await (await database.open(location, books(required))).close()
        const later = books({
          fields: { title, code: string({ default: 'x' }), note: string({ optional: true }) },
        })
        await database.apply(location, later, { allowDestructive: false })
        await assert.rejects(
          database.open(location, books({ fields: { title } }), false),
          /Drop the field books\.code/,
        )
      }))

    test('a start does not remove a field from a search index, since running nodes still write it', () =>
      database.withEmpty(async location => {
        const from = books({ fields: { ...unchangedFields, title: string({ searchable: true }) } })
        const store = await database.open(location, from)
        await assert.rejects(
          database.open(location, plain),
          /Rebuild the search of books\..*portico migrate/s,
        )
        await new Client(store, from).create('books', { title: 'Emma' })
        await store.close()
        await database.apply(location, plain, { allowDestructive: false })
        assert.deepEqual(await database.plan(location, plain), [])
      }))

    test('a start does not add a field whose default would violate a unique index', () =>
      database.withEmpty(async location => {
        await (await database.open(location, plain)).close()
        const among = books({
          fields: { ...unchangedFields, code: string({ default: 'x' }) },
          indexes: [unique('code', 'title')],
        })
        await assert.rejects(database.open(location, among), /unique index of books/)
        const random = checkModel(
          model({
            books: collection({
              access,
              fields: { ...unchangedFields, title, code: uuid({ optional: true, unique: true }) },
            }),
          }),
        )
        await (await database.open(location, random)).close()
      }))
  })
}
