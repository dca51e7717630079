/** Lists and aggregates as CSV and NDJSON. */
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { ConnectedClient } from '../../../src/api/events/credential-monitor.ts'
import { type ExportParts, Exports } from '../../../src/api/rest/export/export.ts'
import { csv, ndjson } from '../../../src/api/rest/export/formats.ts'
import { listSource, maxSortedRows } from '../../../src/api/rest/export/sources.ts'
import type { Reply, StreamedBody } from '../../../src/base/call.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { anonymous, app, type Principal, system, user } from '../../../src/base/principal.ts'
import { orderById } from '../../../src/engine/plan/order.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import {
  anyone,
  boolean,
  collection,
  field,
  integer,
  json,
  model,
  number,
  owner,
  relation,
  role,
  text,
  users,
} from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { databaseKinds, openStore } from '../contract/rest/databases.ts'
import { type Harness, openHarness, toCall } from '../contract/rest/harness.ts'

const declared = model({
  users: users(),
  notes: collection({
    fields: {
      title: text({ max: 20_000 }),
      body: text({ optional: true }),
      points: integer({ optional: true }),
      weight: number({ optional: true }),
      done: boolean({ default: false }),
      extra: json({ optional: true }),
      owner_id: relation('users', { inverse: 'notes' }),
      rating: integer({ optional: true, access: { read: owner('owner_id') } }),
      salary: integer({ optional: true, access: { read: role('admin') } }),
      hidden: boolean({ default: false }),
    },
    access: { read: field('hidden').eq(false), create: anyone, update: anyone, delete: anyone },
  }),
})
const checked = checkModel(declared)

const ann = user(1, 'user', 'all')
const ben = user(2, 'user', 'all')
const csvType = { accept: 'text/csv' }
const ndjsonType = { accept: 'application/x-ndjson' }

function headerOf({ headers }: Reply, name: string): string | undefined {
  const index = headers.findIndex((header, at) => at % 2 === 0 && header.toLowerCase() === name.toLowerCase())
  return index < 0 ? undefined : headers[index + 1]
}

async function textOf({ body }: Reply): Promise<string> {
  if (body === null || typeof body === 'string' || Buffer.isBuffer(body)) return String(body)
  let whole = ''
  for await (const part of body) whole += part
  return whole
}

const lines = (text: string) => text.split('\n').filter(line => line !== '')

for (const kind of databaseKinds) {
  suite(kind.name, () => {
    let harness: Harness
    const seed = (values: Readonly<Record<string, unknown>>) =>
      harness.seed('notes', { title: 'x', done: false, owner_id: 1, hidden: false, ...values } as never)
    const send = (path: string, headers: Readonly<Record<string, string>>, who: Principal = ann) =>
      harness.send({ url: `/api/v1/${path}`, headers }, who)
    const exported = async (path: string, headers = csvType, who?: Principal) => {
      const reply = await send(path, headers, who)
      const whole = await textOf(reply)
      assert.equal(reply.status, 200, whole)
      return whole
    }

    before(async () => {
      harness = await openHarness(checked, model => openStore(kind, model))
      for (const name of ['Ann', 'Ben']) await harness.seed('users', { name, email: `${name}@example.com` })
    })
    after(() => harness?.close())

    test('CSV has a header and a line for each item; spreadsheets read no text as a formula', async () => {
      const texts = [
        '=1+1',
        '+1',
        '-1',
        '@SUM(A1)',
        '\t=1',
        'x;=1',
        'x\t +1',
        'x; y',
        '＝1',
        '\n=1',
        '\r=1',
        'a,"b"\r\nc',
        "'=1",
        ' =1',
        'é😀',
        '1=1',
      ]
      for (const title of texts) await seed({ title, points: -5, weight: 0.5, body: '' })
      await seed({ title: 'last', extra: { '=a': [1, '"'] }, done: true })
      assert.equal(
        await exported('notes?fields=title,body,points,weight,done,extra'),
        [
          'title,body,points,weight,done,extra',
          `'=1+1,"",-5,0.5,false,`,
          `'+1,"",-5,0.5,false,`,
          `'-1,"",-5,0.5,false,`,
          `'@SUM(A1),"",-5,0.5,false,`,
          `"'\t=1","",-5,0.5,false,`,
          `"'x;=1","",-5,0.5,false,`,
          `"'x\t +1","",-5,0.5,false,`,
          `"x; y","",-5,0.5,false,`,
          `'＝1,"",-5,0.5,false,`,
          `"'\n=1","",-5,0.5,false,`,
          `"'\r=1","",-5,0.5,false,`,
          `"a,""b""\r\nc","",-5,0.5,false,`,
          `'=1,"",-5,0.5,false,`,
          `" =1","",-5,0.5,false,`,
          `é😀,"",-5,0.5,false,`,
          `1=1,"",-5,0.5,false,`,
          `last,,,,true,"{""=a"":[1,""\\""""]}"`,
          '',
        ].join('\r\n'),
      )
      assert.equal(await exported('notes?fields=id&title=none'), 'id\r\n')
      const reply = await send('notes?title=last', csvType)
      assert.equal(headerOf(reply, 'Content-Type'), 'text/csv; charset=utf-8; header=present')
      assert.equal(headerOf(reply, 'Content-Disposition'), 'attachment; filename="notes.csv"')
      assert.equal(headerOf(reply, 'Cache-Control'), 'no-store')
      assert.match(String(headerOf(reply, 'Vary')), /Accept/)
      assert.equal(headerOf(reply, 'ETag'), undefined)
      // A tag of the JSON does not answer for the CSV.
      const etag = String(headerOf(await send('notes?title=last', {}), 'ETag'))
      assert.equal((await send('notes?title=last', { 'if-none-match': etag })).status, 304)
      assert.equal((await send('notes?title=last', { ...csvType, 'if-none-match': etag })).status, 200)
    })

    test('without a page, all items come once, in the order of the list', async () => {
      for (let index = 0; index < 950; index++)
        await seed({ title: `many ${(index * 7) % 100}`, points: index % 13, body: 'x'.repeat(index) })
      const page = async (sort: string, number: number) =>
        JSON.parse(
          await textOf(
            await send(`notes?title[starts_with]=many&per_page=100&page=${number}&sort=${sort}`, {}),
          ),
        ).data
      for (const sort of ['id', '-id', 'created_at', '-created_at', 'title', '-points,title']) {
        const expected = []
        for (let number = 1; number <= 10; number++) expected.push(...(await page(sort, number)))
        assert.equal(expected.length, 950)
        const reply = await send(`notes?title[starts_with]=many&sort=${sort}`, ndjsonType)
        assert.equal(headerOf(reply, 'Content-Type'), 'application/x-ndjson')
        assert.equal(typeof reply.body, 'object')
        assert.deepEqual(
          lines(await textOf(reply)).map(line => JSON.parse(line)),
          expected,
          sort,
        )
      }
      const titles = lines(
        await exported('notes?title[starts_with]=many&sort=title&fields=title,points'),
      ).slice(1)
      assert.deepEqual(
        titles.map(line => line.split(',')[0]),
        titles.map(line => line.split(',')[0]).sort(),
      )
      assert.equal(titles.length, 950)
    })

    test('a query that names a page gets that page, with its links', async () => {
      const query = 'notes?title[starts_with]=many&fields=id,title&sort=id'
      const first = await send(`${query}&per_page=2`, csvType)
      assert.equal(lines(await textOf(first)).length, 3)
      assert.match(String(headerOf(first, 'Link')), /page=2&per_page=2>; rel="next"/)
      const cursor = await send(`${query}&per_page=2&cursor=`, csvType)
      assert.match(String(headerOf(cursor, 'Link')), /cursor=[^>]+>; rel="next"/)
      const [, next] = /<\/api\/v1\/([^>]*)>; rel="next"/.exec(String(headerOf(cursor, 'Link'))) ?? []
      const page = JSON.parse(await textOf(await send(`${query}&per_page=2&page=2`, {}))).data
      const rows = lines(await exported(String(next), ndjsonType)).map(line => JSON.parse(line))
      assert.deepEqual(rows, page)
    })

    test('the rules of lists apply: hidden items, fields and values', async () => {
      await seed({ title: 'ruled', rating: 1, owner_id: 1 })
      await seed({ title: 'ruled', rating: 2, owner_id: 2 })
      await seed({ title: 'ruled', rating: 3, owner_id: 1, hidden: true })
      assert.equal(
        await exported('notes?title=ruled&fields=owner_id,rating'),
        'owner_id,rating\r\n1,1\r\n2,\r\n',
      )
      const [head = ''] = lines(await exported('notes?title=ruled'))
      assert.ok(head.includes('rating') && !head.includes('salary'), head)
      const admin = user(1, 'admin', 'all')
      assert.match(await exported('notes?title=ruled', csvType, admin), /^[^\n]*salary/)
      assert.equal((await send('notes?fields=salary', csvType)).status, 400)
      assert.equal((await send('notes', csvType, app('an-app', new Set(['read:user'])))).status, 403)
      assert.equal((await send('users', csvType, anonymous('192.0.2.1'))).status, 401)
      assert.equal(
        await exported('users/2/notes?title=ruled&fields=id,rating', csvType, ben),
        await exported('notes?title=ruled&owner_id=2&fields=id,rating', csvType, ben),
      )
      assert.equal((await send('users/99/notes', csvType)).status, 404)
    })

    test('groups are lines; related items have a place in NDJSON only', async () => {
      const query =
        'notes/aggregate?title[eq]=ruled&group_by=owner_id,created_at:year&count&max=rating,title&sort=owner_id'
      const year = new Date().getUTCFullYear()
      assert.equal(
        await exported(query),
        `owner_id,created_at:year,count,max.rating,max.title\r\n1,${year},1,1,ruled\r\n2,${year},1,,ruled\r\n`,
      )
      assert.deepEqual(
        lines(await exported(`${query}&per_page=1&page=2`, ndjsonType)).map(line => JSON.parse(line)),
        [{ owner_id: 2, 'created_at:year': String(year), count: 1, max: { rating: null, title: 'ruled' } }],
      )
      assert.equal(await exported('users/2/notes/aggregate?title[eq]=ruled'), 'count\r\n1\r\n')
      const refused = await send('notes?include=owner', csvType)
      assert.equal(refused.status, 400)
      assert.match(await textOf(refused), /include.* has no place in CSV/)
      const [first] = lines(await exported('notes?include=owner&fields=id&title=ruled', ndjsonType))
      assert.deepEqual(Object.keys(JSON.parse(String(first))), ['id', 'owner'])
    })

    test('items that are hidden, deleted or no longer match meanwhile do not come, whatever the order', async () => {
      for (const sort of ['id', 'title']) {
        const ids: number[] = []
        for (let index = 0; index < 130; index++) ids.push(await seed({ title: `moving ${sort}` }))
        const { body } = await send(
          `notes?title=moving ${sort}&sort=${sort}&fields=id`.replaceAll(' ', '%20'),
          ndjsonType,
        )
        const iterator = (body as StreamedBody)[Symbol.asyncIterator]()
        const first = lines(String((await iterator.next()).value))
        assert.equal(first.length, 20)
        const update = (index: number, name: string, value: string | boolean) => {
          const set = [{ field: name, param: 1 }]
          const change = { kind: 'update', mode: 'merge', collection: 'notes', id: 0, set } as const
          const shape = { ...change, ifMatch: undefined, select: [] } as const
          return harness.run.write({ shape, args: [Number(ids[index]), value] }, system)
        }
        await update(110, 'hidden', true)
        await update(115, 'title', 'no longer')
        await harness.run.write(
          {
            shape: { kind: 'delete', collection: 'notes', id: 0, ifMatch: undefined },
            args: [Number(ids[120])],
          },
          system,
        )
        const rest: string[] = []
        for (let part = await iterator.next(); !part.done; part = await iterator.next())
          rest.push(...lines(String(part.value)))
        const seen = [...first, ...rest].map(line => JSON.parse(line).id)
        assert.deepEqual(
          seen,
          ids.filter((_, index) => ![110, 115, 120].includes(index)),
          sort,
        )
      }
    })

    test('rows that are too large for one answer are read in smaller pages', async () => {
      for (let index = 0; index < 120; index++)
        await seed({ title: 'large', body: String(index % 10).repeat(200_000) })
      const whole = await exported('notes?title=large&fields=body')
      assert.equal(lines(whole).length, 121)
      assert.equal(whole.length, 'body\r\n'.length + 120 * 200_002)
    })

    test('a caller has two exports at a time; one that ends makes room', async () => {
      const open = () => send('notes?title[starts_with]=many', csvType, ben)
      const [one, two] = [await open(), await open()]
      const third = await open()
      assert.equal(third.status, 429)
      assert.match(await textOf(third), /2 open exports/)
      assert.equal((await send('notes?title[starts_with]=many', csvType, ann)).status, 200)
      await (one.body as StreamedBody)[Symbol.asyncIterator]().return?.()
      assert.match(await textOf(await open()), /many/)
      await textOf(two)
      assert.equal(
        await textOf(await open())
          .then(lines)
          .then(({ length }) => length),
        951,
      )
    })
  })
}

test('JSON is preferred unless the header names another format with a higher weight', () => {
  const formatOf = async (accept: string) => {
    const harness = await opened
    return headerOf(await harness.send({ url: '/api/v1/notes', headers: { accept } }, ann), 'Content-Type')
  }
  const opened = openHarness(checked, model => openStore(databaseKinds[0] as never, model))
  const rows: readonly (readonly [string, string])[] = [
    ['*/*', 'application/json'],
    ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'application/json'],
    ['application/json, text/csv', 'application/json'],
    ['application/json;q=0.5, text/csv', 'text/csv; charset=utf-8; header=present'],
    ['text/csv;q=0.4, application/json;q=0.5', 'application/json'],
    ['text/csv, */*', 'text/csv; charset=utf-8; header=present'],
    ['text/csv, */*;q=0.1', 'text/csv; charset=utf-8; header=present'],
    ['TEXT/CSV', 'text/csv; charset=utf-8; header=present'],
    ['text/csv;q=0, */*', 'application/json'],
    ['text/csv;q=0.5, application/x-ndjson', 'application/x-ndjson'],
    ['text/csv, application/problem+json', 'text/csv; charset=utf-8; header=present'],
  ]
  return opened.then(async harness => {
    try {
      for (const [accept, type] of rows) assert.equal(await formatOf(accept), type, accept)
      const item = await harness.send({ url: '/api/v1/notes/1', headers: csvType }, ann)
      assert.equal(item.status, 406)
      const none = await harness.send({ url: '/api/v1/notes', headers: { accept: 'text/csv;q=0' } }, ann)
      assert.equal(none.status, 406)
      assert.match(await textOf(none), /application\/json, text\/csv or application\/x-ndjson/)
      const wide = await harness.send({ url: '/api/v1/notes', headers: { accept: 'text/*' } }, ann)
      assert.equal(wide.status, 406)
    } finally {
      await harness.close()
    }
  })
})

const call = toCall({ url: '/api/v1/notes' })
const presentation = { open: [], own: [], unstored: ['Content-Type', 'application/json'] }
const source = (pages: number, failure?: Error) => {
  let read = 0
  return {
    isSized: true,
    async next(_principal: Principal, size: number) {
      if (failure && read === 1) throw failure
      const rows = Array.from({ length: size }, (_, id) => ({ id }))
      return { rows, isLast: read + 1 === pages, advance: () => void read++ }
    },
  }
}
const request = (pages: number, failure?: Error) => ({
  ...{ call, principal: ann, columns: [], presentation, name: 'notes' },
  source: source(pages, failure),
})

test('an export draws a request for 20 rows, and waits where the budget has none', async () => {
  const drawn: number[] = []
  let refusals = 0
  const draw = (_call: unknown, _principal: unknown, requests: number) => {
    if (drawn.length > 0 && (requests > 2 || refusals++ < 3))
      throw new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': '0' } })
    drawn.push(requests)
    return undefined
  }
  const reply = await new Exports({ draw }).answer(ndjson, request(3))
  assert.deepEqual(drawn, [])
  const rows = lines(await textOf(reply)).length
  assert.equal(rows, 20 + 40 + 80)
  assert.equal(
    drawn.reduce((sum, requests) => sum + requests, 0),
    rows / 20 - 1,
  )
  // Before the response has begun, it is refused.
  const refuse = () => {
    throw new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': '0' } })
  }
  const exports = new Exports({ draw: refuse })
  const page = { rows: Array.from({ length: 21 }, () => ({})), isLast: true, advance: () => {} }
  const large = { ...request(1), source: { isSized: false, next: async () => page } }
  for (let again = 0; again < 3; again++)
    await assert.rejects(exports.answer(csv, large), { code: 'RATE_LIMITED', message: /./ })
})

test('rows that were read before the export waited for its budget are read again, with the rights of then', async () => {
  let client: ConnectedClient | undefined
  const credentials = { add: (added: ConnectedClient) => (client = added), remove: () => {} }
  const clientOf = () => ({
    credential: { authorization: 'Bearer x' },
    address: '',
    onGone: () => () => {},
  })
  const events = { events: { credentials }, clientOf } as unknown as ExportParts['events']
  let hasWaited = false
  const draw = async () => {
    if (hasWaited) return undefined
    hasWaited = true
    client?.changePrincipal({ ...ann, userId: 99 })
    throw new ApiError('RATE_LIMITED', undefined, { headers: { 'Retry-After': '0' } })
  }
  let at = 0
  const next = async ({ userId }: Principal, size: number) => ({
    rows: Array.from({ length: size }, () => ({ at, userId })),
    isLast: at === 2,
    advance: () => void at++,
  })
  const reply = await new Exports({ draw, events }).answer(ndjson, {
    ...request(1),
    source: { isSized: true, next },
  })
  const seen = new Set(lines(await textOf(reply)))
  assert.deepEqual(
    [...seen].map(line => JSON.parse(line)),
    [
      { at: 0, userId: ann.userId },
      { at: 1, userId: 99 },
      { at: 2, userId: 99 },
    ],
  )
})

test('an export that reads the ids of all rows draws as much as a scan, before it reads anything', async () => {
  const drawn: number[] = []
  let reads = 0
  const draw = async (_call: unknown, _principal: unknown, requests: number) => void drawn.push(requests)
  const next = async () => {
    reads++
    return { rows: [], isLast: true, advance: () => {} }
  }
  const asked = { ...request(1), source: { isSized: true, readsAllIds: true, next } }
  await textOf(await new Exports({ draw } as unknown as ExportParts).answer(csv, asked))
  assert.deepEqual([drawn, reads], [[4], 1])
  const refuse = () => {
    throw new ApiError('RATE_LIMITED')
  }
  await assert.rejects(new Exports({ draw: refuse }).answer(csv, asked), { code: 'RATE_LIMITED' })
  assert.equal(reads, 1)
})

test('large rows draw a request for each MiB', async () => {
  const drawn: number[] = []
  const draw = async (_call: unknown, _principal: unknown, requests: number) => void drawn.push(requests)
  let at = 0
  const next = async () => ({
    rows: [{ text: 'x'.repeat(2 * 1024 * 1024) }],
    isLast: at === 2,
    advance: () => void at++,
  })
  const reply = await new Exports({ draw } as unknown as ExportParts).answer(ndjson, {
    ...request(1),
    source: { isSized: true, next },
  })
  assert.equal(lines(await textOf(reply)).length, 3)
  // The request itself has paid for the first MiB.
  assert.equal(
    drawn.reduce((sum, requests) => sum + requests, 0),
    5,
  )
})

test('a credential that ends while the first page is read or paid for refuses the export', async () => {
  for (const when of ['read', 'paid'] as const) {
    let client: ConnectedClient | undefined
    const end = () => client?.disconnect(new ApiError('UNAUTHORIZED'))
    const credentials = { add: (added: ConnectedClient) => (client = added), remove: () => {} }
    const clientOf = () => ({
      credential: { authorization: 'Bearer x' },
      address: '',
      onGone: () => () => {},
    })
    const events = { events: { credentials }, clientOf } as unknown as ExportParts['events']
    const draw = async () => {
      if (when === 'paid') end()
      return undefined
    }
    const page = { rows: Array.from({ length: 40 }, () => ({})), isLast: false, advance: () => {} }
    const next = async () => {
      if (when === 'read') end()
      return page
    }
    const exports = new Exports({ draw, events })
    const asked = { ...request(1), source: { isSized: false, next } }
    await assert.rejects(exports.answer(csv, asked), { code: 'UNAUTHORIZED' }, when)
  }
})

test('what fails after the first page breaks the export off', async () => {
  const exports = new Exports({})
  for (const failure of [new ApiError('NOT_FOUND'), new TypeError('a fault')]) {
    const reply = await exports.answer(csv, request(3, failure))
    await assert.rejects(textOf(reply), failure)
    await assert.rejects(new Exports({ maxMs: -1 }).answer(csv, request(3)), { code: 'REQUEST_TIMEOUT' })
  }
  // Both have ended.
  assert.equal((await exports.answer(csv, request(1))).status, 200)
})

test('in an order that may change, more rows than can be kept are refused', async () => {
  const run = { list: async () => ({ kind: 'list', text: '[]', hasMore: true }) } as unknown as Run
  const window = { kind: 'page', offset: 0, limit: 1, total: 'exact' } as const
  const sort = [{ field: 'title', descending: false }, ...orderById]
  const template = { shape: { kind: 'list', collection: 'notes', sort, window, select: [] } }
  const bound = { template, args: [0, 20], page: 1, perPage: 20, linkQuery: '' }
  await assert.rejects(listSource(run, bound as never, undefined).next(ann, 100), {
    code: 'BAD_REQUEST',
    message: new RegExp(`at most ${maxSortedRows} rows`),
  })
})
