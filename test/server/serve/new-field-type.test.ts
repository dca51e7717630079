/** A field type that is declared in one file works everywhere, without changes elsewhere. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { anyone, collection, type Declaration, field, index, model, not, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { FieldDeclaration } from '../../../src/model/fields/declared.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import { price } from '../../models/money.ts'
import { type MigrationDatabase, migrationDatabases } from '../../setups/databases/migrations.ts'
import { secretKey } from '../../setups/postgres.ts'

const open = { read: anyone, create: anyone, update: anyone, delete: anyone }

function shop(fields: Readonly<Record<string, FieldDeclaration>>): Declaration {
  return model({
    goods: collection({ singular: 'good', fields: { name: text(), ...fields }, access: open }),
  })
}

const priced = model({
  goods: collection({
    singular: 'good',
    fields: { name: text(), price: price({ optional: true }), fee: price({ default: '0.05' }) },
    indexes: [index('price')],
    access: { ...open, read: not(field('price').in(['6.66', '6.67'])) },
  }),
})

async function withService<T>(declaration: Declaration, database: string, use: (url: string) => Promise<T>) {
  const settings = {
    host: '127.0.0.1',
    port: 0,
    database,
    logLevel: 'silent',
    secretKeys: [secretKey],
  } as const
  const service = await serve(declaration, settings)
  try {
    return await use(service.url)
  } finally {
    await service.close()
  }
}

async function send(url: string, method = 'GET', body?: object) {
  const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
  const response = await fetch(url, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': type } }),
  })
  const answer = await response.json()
  assert.ok(response.ok, JSON.stringify(answer))
  return answer
}

const namesOf = (goods: readonly { readonly name: string }[]) => goods.map(({ name }) => name).join('')

async function graphql(url: string, query: string, variables: object = {}) {
  const { data, errors } = await send(`${url}/graphql`, 'POST', { query, variables })
  assert.equal(errors, undefined, JSON.stringify(errors))
  return data
}

async function inRest(url: string): Promise<void> {
  const goods = `${url}/api/v1/goods`
  const prices = { a: '9.00', b: '10.00', c: null, d: '0.07', e: '10.00', f: '6.66' }
  for (const [name, price] of Object.entries(prices)) {
    const created = await send(goods, 'POST', { name, price })
    // A caller who cannot read the created item gets its id only.
    if (name !== 'f') assert.deepEqual([created.price, created.fee], [price, '0.05'])
  }
  const namesFor = async (query: string) => namesOf((await send(`${goods}?${query}`)).data)
  assert.equal(await namesFor('sort=price,-id'), 'cdaeb')
  assert.equal(await namesFor('sort=-price,id&per_page=2&page=2'), 'ad')
  assert.equal(await namesFor('price=10.00'), 'be')
  assert.equal(await namesFor('price[gte]=9.00&sort=id'), 'abe')
  assert.equal(await namesFor('price[in]=0.07,9.00&sort=id'), 'ad')
  assert.equal(await namesFor('price[null]=true'), 'c')
  let pages = ''
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { data, meta } = await send(`${goods}?sort=price&per_page=1&cursor=${cursor}`)
    pages += namesOf(data)
    cursor = meta.next_cursor
  }
  assert.equal(pages, 'cdabe')
  assert.equal((await send(`${goods}/1`, 'PATCH', { price: '9.50' })).price, '9.50')
  assert.equal((await send(`${goods}/1?fields=price`)).price, '9.50')
  assert.equal((await fetch(`${goods}?price=9.5`)).status, 400)
  assert.equal(
    (await send(`${url}/api/v1/openapi.json`)).components.schemas.Good.properties.price.pattern !== '',
    true,
  )
}

async function inGraphql(url: string): Promise<void> {
  const list =
    'query ($least: Money) { goods(filter: { price: { gte: $least } }, orderBy: [PRICE_DESC]) { name price } }'
  const { goods } = await graphql(url, list, { least: '9.50' })
  assert.deepEqual(
    goods.map(({ name, price }: { name: string; price: string }) => `${name} ${price}`),
    ['e 10.00', 'b 10.00', 'a 9.50'],
  )
  const created = await graphql(url, 'mutation { createGood(name: "g", price: "1.10") { id price } }')
  assert.equal(created.createGood.price, '1.10')
  const connection =
    'query ($after: String) { goodsConnection(first: 3, after: $after, orderBy: [PRICE_ASC]) { nodes { name } pageInfo { endCursor } } }'
  const first = (await graphql(url, connection)).goodsConnection
  const next = (await graphql(url, connection, { after: first.pageInfo.endCursor })).goodsConnection
  assert.equal(namesOf([...first.nodes, ...next.nodes]), 'cdgabe')
  assert.deepEqual(await deleteAndReadEvent(url, created.createGood.id), { name: 'g', price: '1.10' })
}

/** The message to subscribers about a deleted item, whose values only the event has. */
async function deleteAndReadEvent(url: string, id: string): Promise<unknown> {
  const response = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({ query: 'subscription { goodDeleted { name price } }' }),
  })
  assert.ok(response.body)
  let text = ''
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    if (text === '') await graphql(url, `mutation { deleteGood(id: ${id}) }`)
    text += chunk
    const [, event] = /^data: ?(.*goodDeleted.*)$/m.exec(text) ?? []
    if (event !== undefined) return JSON.parse(event).data.goodDeleted
  }
  throw new Error(`the stream ended: ${text}`)
}

async function checkMigration(database: MigrationDatabase, location: string): Promise<void> {
  const priceIn = (declaration: Declaration) =>
    withService(declaration, location, async url => (await send(`${url}/api/v1/goods/1`)).price)
  const apply = (next: Declaration) => database.apply(location, checkModel(next), { allowDestructive: true })
  await apply(shop({ price: text({ optional: true }) }))
  await withService(shop({ price: text({ optional: true }) }), location, url =>
    send(`${url}/api/v1/goods`, 'POST', { name: 'a', price: '12.50' }),
  )
  await apply(shop({ price: price({ optional: true }), fee: price({ default: '1.00' }) }))
  assert.equal(
    await priceIn(shop({ price: price({ optional: true }), fee: price({ default: '1.00' }) })),
    '12.50',
  )
  assert.deepEqual(
    await database.rows(location, 'SELECT "price", "fee" FROM "goods"').then(rows => rows.flat().map(Number)),
    [1250, 100],
  )
}

for (const database of migrationDatabases) {
  test(`${database.name}: a new field type is stored, filtered, sorted, paged by cursor and returned`, () =>
    database.withEmpty(async location => {
      await database.apply(location, checkModel(priced), { allowDestructive: false })
      await withService(priced, location, async url => {
        await inRest(url)
        await inGraphql(url)
      })
    }))

  test(`${database.name}: a field is migrated to a new type`, () =>
    database.withEmpty(location => checkMigration(database, location)))
}

/** Source patterns that compare the type of a field instead of calling it. */
const questions = [
  /\btype\.name (?:===|!==)/,
  /\.encoding(?:\.name)? (?:===|!==) (?:['"]|\w+Encoding)/,
  /\b(?:has|includes)\([\w.?]*type\.name\)/,
  /(?:case|===|!==) '(?:TEXT|INTEGER|REAL|bigint|double precision)'/,
  /\bgraphql(?:\.type)? (?:===|!==) /,
]

test('only field types depend on an encoding, a column type or a GraphQL type', () => {
  const sources = join(import.meta.dirname, '../../../src')
  const files = readdirSync(sources, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts') && !file.startsWith(join('model', 'fields')))
    .map(file => [file, readFileSync(join(sources, file), 'utf8')] as const)
  const asking = files.flatMap(([file, text]) =>
    questions.flatMap(question => question.exec(text)?.map(match => `${file}: ${match}`) ?? []),
  )
  assert.deepEqual(asking, [])
})
