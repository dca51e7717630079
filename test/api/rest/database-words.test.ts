/** Names that mean something else to a database: each works in every construct, or the model is refused. */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { user } from '../../../src/base/principal.ts'
import { copyDatabase } from '../../../src/engine/store/copy/copy.ts'
import { openPostgres } from '../../../src/engine/store/postgres/postgres.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import {
  type AccessRule,
  anyone,
  collection,
  count,
  field,
  index,
  integer,
  model,
  relation,
  string,
  users,
} from '../../../src/index.ts'
import { checkModel, ModelError, type ModelFault } from '../../../src/model/check/check.ts'
import type { Model } from '../../../src/model/model.ts'
import { isWhole, seed } from '../../cases.ts'
import { chosen, testOfOthers } from '../../chosen.ts'
import { Client, withFile } from '../../engine/store/blog.ts'
import { postgresLocation, sqliteLocation } from '../../engine/store/copy/locations.ts'
import { databaseWords } from '../../models/database-words.ts'
import { migrationDatabases } from '../../setups/databases/migrations.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { openStore, postgres, rowSecurityPostgres, sqlite } from '../contract/rest/databases.ts'
import { type Harness, openHarness } from '../contract/rest/harness.ts'

const caller = user(1, 'user', 'all')

/** The names within Portico's own statements: aliases, columns and tables. */
function ownNames(): readonly string[] {
  const files = globSync('src/{store,plan}/**/*.ts', { cwd: new URL('../../..', import.meta.url) })
  const sources = files.map(file => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))
  return sources.flatMap(source => [...source.matchAll(/"([a-z][a-z0-9_]*)"/g)].map(([, name = '']) => name))
}

const words = [...new Set([...databaseWords, ...ownNames(), 't0', 't1', 't2'])].sort()

const fieldsOf = (names: readonly string[]) =>
  Object.fromEntries(names.map(name => [name, string({ optional: true, searchable: true })]))

type Declaration = Parameters<typeof checkModel>[0]

/** The faults of a model that declares all of the names, up to where the check stops. */
function faultsOf(declared: Declaration): readonly ModelFault[] {
  try {
    checkModel(declared)
    return []
  } catch (error) {
    if (error instanceof ModelError) return error.faults
    throw error
  }
}

/** The names that the model accepts. The check reports some faults only when there are no others. */
function accepted(
  names: readonly string[],
  declare: (names: readonly string[]) => Declaration,
): readonly string[] {
  const faults = faultsOf(declare(names))
  for (const { place, message } of faults)
    assert.match(message, /reserved|snake_case|cannot be searched/, `${place}: ${message}`)
  const places = new Set(faults.flatMap(({ place }) => place.split('.')))
  const left = names.filter(name => !places.has(name))
  assert.ok(faults.length === 0 || left.length < names.length)
  return faults.length === 0 ? names : accepted(left, declare)
}

const access = { read: anyone, create: anyone, update: anyone, delete: anyone }

function chunks<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, n) => list.slice(n * size, (n + 1) * size))
}

/** A collection has at most 400 fields. */
const fieldNames = chunks(words, 300).flatMap(some =>
  accepted(some, names =>
    model({ users: users(), its_things: collection({ fields: fieldsOf(names), access }) }),
  ),
)
const collectionNames = accepted(
  words.filter(word => !/^users?$/.test(word)),
  names =>
    model({
      users: users(),
      ...Object.fromEntries(
        names.map(name => [
          name,
          collection({ singular: `the_${name}_item`, fields: fieldsOf(['its_title']), access }),
        ]),
      ),
    }),
)

/** Words with a known second meaning, and a sample of the others that moves with the seed. */
function sampleOf(names: readonly string[], size: number): readonly string[] {
  if (isWhole) return names
  const step = Math.max(1, Math.floor(names.length / size))
  const known =
    /^(true|false|null|t\d|excluded|current_\w+|user|session_user|rank|value|key|name|data|x|new|old|row)$/
  return names.filter((name, n) => known.test(name) || n % step === seed % step)
}

type Options = Parameters<typeof collection>[0]

/** A collection with texts. */
function bare(name: string, fields: readonly string[], renamedFrom?: readonly string[]) {
  return collection({
    singular: `the_${name}_item`,
    fields: Object.fromEntries(
      fields.map((word, n) => [
        word,
        string({ optional: true, ...(renamedFrom?.[n] !== undefined && { renamedFrom: renamedFrom[n] }) }),
      ]),
    ),
    access,
  } as unknown as Options)
}

/** A collection whose rules, indexes, computed fields and search name every field. */
function wordy(name: string, fields: readonly string[]) {
  const rule = fields
    .map((word): AccessRule => field(word).ne('hidden'))
    .reduce((all, next) => all.and(next as never)) as AccessRule
  return collection({
    singular: `the_${name}_item`,
    fields: {
      ...Object.fromEntries(fields.map(word => [word, string({ searchable: true, default: 'v' })])),
      its_number: integer({ default: 0 }),
      its_parent_id: relation(name, { optional: true, as: 'its_parent', inverse: 'its_children' }),
    },
    computed: Object.fromEntries(
      fields.slice(0, 5).map(word => [`its_count_of_${word}`, count('its_children', field(word).ne('w'))]),
    ),
    indexes: fields.slice(0, 8).map(word => index(word, '-its_number')),
    access: { read: rule, create: rule, update: rule, delete: rule },
  } as unknown as Options)
}

const modelOf = (collections: Readonly<Record<string, ReturnType<typeof collection>>>): Model =>
  checkModel(model({ users: users(), ...collections }))

async function okay(harness: Harness, method: string, url: string, body?: unknown) {
  const reply = await harness.send({ method, url: `/api/v1${url}`, body }, caller)
  const { status } = reply
  const said = typeof reply.body === 'string' || Buffer.isBuffer(reply.body) ? String(reply.body) : ''
  assert.ok(status < 300, `${method} ${url}: ${status} ${said}`)
  return said === '' ? undefined : JSON.parse(said)
}

/** They cannot group in a request that asks for the measure. */
const measures = new Set(['count', 'sum', 'min', 'max', 'avg'])

/** Every construct, with every field. */
async function exercise(harness: Harness, name: string, fields: readonly string[]): Promise<void> {
  const values = (value: string) => Object.fromEntries(fields.map(word => [word, value]))
  const before = (await okay(harness, 'GET', '/events')).meta.next_after
  const parent = await okay(harness, 'POST', `/${name}`, values('one'))
  const child = await okay(harness, 'POST', `/${name}`, { ...values('two'), its_parent_id: parent.id })
  assert.partialDeepStrictEqual(child, values('two'))
  const operators = ['', '[eq]', '[ne]', '[gte]', '[in]', '[contains]', '[starts_with]']
  const filters = fields.map((word, n) => {
    const operator = operators[n % operators.length] ?? ''
    return `${word}${operator}=${operator === '[ne]' ? 'one' : operator === '[gte]' ? 'p' : 'two'}`
  })
  for (const some of chunks(filters, 20)) {
    const found = await okay(harness, 'GET', `/${name}?${some.join('&')}`)
    assert.deepEqual(ids(found), [child.id], some.join('&'))
  }
  for (const some of chunks(fields, 3)) {
    const sort = some.map((word, n) => (n % 2 === 0 ? word : `-${word}`)).join(',')
    const first = await okay(harness, 'GET', `/${name}?sort=${sort}&cursor=&per_page=1`)
    assert.deepEqual(ids(first), [parent.id])
    const cursor = encodeURIComponent(first.meta.next_cursor)
    assert.deepEqual(ids(await okay(harness, 'GET', `/${name}?sort=${sort}&cursor=${cursor}&per_page=1`)), [
      child.id,
    ])
  }
  for (const some of chunks(
    fields.filter(word => !measures.has(word)),
    3,
  )) {
    const query = `count&group_by=${some.join(',')}&min=${some[0]}`
    assert.equal((await okay(harness, 'GET', `/${name}/aggregate?${query}`)).data.length, 2)
  }
  const counted = fields.slice(0, 5).map(word => `its_count_of_${word}`)
  const included = await okay(
    harness,
    'GET',
    `/${name}?include=its_children,its_parent&sort=-id&fields=${['id', ...counted, ...fields].join(',')}`,
  )
  assert.deepEqual(ids(included), [child.id, parent.id])
  for (const computed of counted) assert.equal(included.data[1][computed], 1)
  assert.deepEqual(ids(await okay(harness, 'GET', `/${name}?q=two`)), [child.id])
  assert.partialDeepStrictEqual(
    await okay(harness, 'PATCH', `/${name}/${child.id}`, values('three')),
    values('three'),
  )
  await okay(harness, 'PUT', `/${name}/${child.id}`, values('four'))
  assert.deepEqual(ids(await okay(harness, 'GET', `/${name}?q=four`)), [child.id])
  await okay(harness, 'DELETE', `/${name}/${child.id}`)
  const events = await okay(harness, 'GET', `/events?after=${before}&collections=${name}`)
  assert.deepEqual(
    events.data.map(({ type }: { readonly type: string }) => type.split('.')[1]),
    ['created', 'created', 'updated', 'updated', 'deleted'],
  )
}

const ids = (list: { readonly data: readonly { readonly id: number }[] }) => list.data.map(({ id }) => id)

for (const kind of chosen([sqlite, postgres, rowSecurityPostgres])) {
  test(`fields whose names are words of a database work on ${kind.name}`, async () => {
    const groups = chunks(sampleOf(fieldNames, 45), 15)
    const declared = modelOf(
      Object.fromEntries(groups.map((names, n) => [`group_${n}x`, wordy(`group_${n}x`, names)])),
    )
    const harness = await openHarness(declared, own => openStore(kind, own))
    try {
      for (const [n, names] of groups.entries()) await exercise(harness, `group_${n}x`, names)
    } finally {
      await harness.close()
    }
  })

  test(`collections whose names are words of a database work on ${kind.name}`, async () => {
    const names = sampleOf(collectionNames, 8)
    const declared = modelOf(
      Object.fromEntries(names.map(name => [name, wordy(name, [`word_${name}`, 'title'])])),
    )
    const harness = await openHarness(declared, own => openStore(kind, own))
    try {
      for (const name of names) await exercise(harness, name, [`word_${name}`, 'title'])
    } finally {
      await harness.close()
    }
  })
}

for (const database of migrationDatabases) {
  test(`fields are renamed from and to words of a database on ${database.name}`, async () => {
    for (const names of chunks(fieldNames, 350))
      await database.withEmpty(async location => {
        const plain = names.map(word => `its_${word}`)
        const list = (some: readonly string[]) => some.map(name => `"${name}"`).join(', ')
        const valuesOf = (some: readonly string[]) =>
          database.rows(location, `SELECT ${list(some)} FROM "things"`)
        await (await database.open(location, modelOf({ things: bare('things', plain) }))).close()
        const columns = `("created_at", ${list(plain)})`
        const values = plain.map((_, n) => `'value ${n}'`)
        await database.run(location, `INSERT INTO "things" ${columns} VALUES (0, ${values.join(', ')})`)
        const before = await valuesOf(plain)
        for (const [from, to] of [
          [plain, names],
          [names, plain],
        ] as const) {
          await database.apply(location, modelOf({ things: bare('things', to, from) }), {
            allowDestructive: false,
          })
          assert.deepEqual(await valuesOf(to), before)
          await database.assertConsistent(location)
        }
      })
  })

  test(`a field that has a name reserved since then keeps its data on ${database.name}`, async () => {
    await database.withEmpty(async location => {
      await (
        await database.open(location, modelOf({ things: bare('things', ['title', 'was_true', 'was_false']) }))
      ).close()
      const [columns, values] = ['"created_at", "title", "was_true", "was_false"', "0, 't', 'a', 'b'"]
      await database.run(location, `INSERT INTO "things" (${columns}) VALUES (${values})`)
      for (const word of ['true', 'false'])
        await database.run(location, `ALTER TABLE "things" RENAME COLUMN "was_${word}" TO "${word}"`)
      await database.run(
        location,
        `UPDATE "_portico" SET "value" = replace(replace("value", 'was_true', 'true'), 'was_false', 'false') WHERE "key" = 'schema'`,
      )
      const renamed = bare('things', ['yes_votes', 'no_votes', 'title'], ['true', 'false'])
      await database.apply(location, modelOf({ things: renamed }), { allowDestructive: false })
      assert.deepEqual(await database.rows(location, 'SELECT "yes_votes", "no_votes" FROM "things"'), [
        ['a', 'b'],
      ])
    })
  })
}

testOfOthers('a copy keeps collections and fields whose names are words of a database', async () => {
  const groups = chunks(fieldNames, 100)
  const names = [...sampleOf(collectionNames, 8), ...groups.keys().map(n => `its_${n}x`)]
  const fieldsIn = (name: string) => groups[Number(/^its_(\d)x$/.exec(name)?.[1])] ?? ['title']
  const declared = modelOf(Object.fromEntries(names.map(name => [name, bare(name, fieldsIn(name))])))
  const rowsOf = async (store: Store) => {
    const client = new Client(store, declared)
    return Promise.all(names.map(name => client.item(name, 1)))
  }
  await withFile(async file => {
    await withPostgres(async url => {
      const source = openSqlite(declared, { file })
      const client = new Client(source, declared)
      for (const name of names) {
        const values = fieldsIn(name).map(word => [word, `its ${word}`])
        await client.create(name, Object.fromEntries(values))
      }
      const before = await rowsOf(source)
      await source.close()
      const [from, to] = [sqliteLocation(file), postgresLocation(url)]
      await copyDatabase(declared, { from, to, live: false, onProgress: () => {} })
      const target = await openPostgres(declared, { url })
      try {
        assert.deepEqual(await rowsOf(target), before)
      } finally {
        await target.close()
      }
    })
  })
})
