/** Exports by the typed client: of a service in memory, and of answers that are broken off. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { ApiError, createClient } from '../../src/client.ts'
import { anyone, collection, integer, model, relation, string } from '../../src/index.ts'
import { testService } from '../../src/testing.ts'

const shop = model({
  goods: collection({
    fields: {
      name: string(),
      price: integer(),
      maker_id: relation('users', { optional: true, inverse: 'goods' }),
    },
    access: { read: anyone, create: anyone },
  }),
})

async function collected<T>(parts: AsyncIterable<T>): Promise<readonly T[]> {
  const all: T[] = []
  for await (const part of parts) all.push(part)
  return all
}

/** More than one page of an export. */
const count = 100

test('an export has all items that match, as the text of CSV or as items', async () => {
  const service = await testService(shop)
  try {
    const maker_id = (await service.users.create({ name: 'Ann' })).id
    const api = service.as(maker_id)
    await api.goods.createMany(
      Array.from({ length: count }, (_, index) => ({ name: `"Ü${index}"`, price: index, maker_id })),
    )
    const where = { price: { gte: 10 } }
    const csv = await collected(
      api.goods.export({ format: 'csv', where, fields: ['name', 'price'], sort: ['-price'] }),
    )
    const lines = csv.join('').split('\r\n')
    assert.deepEqual([lines[0], lines[1], lines.at(-2)], ['name,price', '"""Ü99""",99', '"""Ü10""",10'])
    assert.equal(lines.length, count - 10 + 2)
    const items = await collected(api.goods.export({ format: 'ndjson', where, sort: ['id'] }))
    assert.deepEqual(items, await collected(api.goods.all({ where, sort: ['id'] })))
    const [first] = await collected(
      api.goods.export({ format: 'ndjson', fields: ['id'], include: ['maker'], where: { price: 7 } }),
    )
    assert.equal(first?.maker?.name, 'Ann')
  } finally {
    await service.close()
  }
})

test('an export that is refused throws before anything is read, and one that is left frees its place', async () => {
  const service = await testService(shop)
  try {
    const api = service.as(await service.users.create({ name: 'Ann' }))
    await api.goods.createMany(
      Array.from({ length: count }, (_, index) => ({ name: `${index}`, price: index })),
    )
    await assert.rejects(collected(api.goods.export({ format: 'csv', where: { missing: 1 } as never })), {
      code: 'BAD_REQUEST',
    })
    await assert.rejects(
      collected(api.goods.export({ format: 'csv', include: ['maker'] as never })),
      ApiError,
    )
    // At most two at a time: each of them ends with its loop.
    for (let round = 0; round < 5; round++) {
      for await (const { name } of api.goods.export({ format: 'ndjson', sort: ['id'], retries: 100 })) {
        assert.equal(name, '0')
        break
      }
    }
  } finally {
    await service.close()
  }
})

/** A client whose requests get this answer, and what it has sent. */
function answering(answer: (signal: AbortSignal) => Response) {
  const sent: { readonly url: string; readonly accept: unknown }[] = []
  const api = createClient<typeof shop>({
    baseUrl: 'https://api.example.com',
    fetch: async (url, init) => {
      const { accept } = Object(init?.headers)
      sent.push({ url: decodeURIComponent(String(url)), accept })
      return answer(init?.signal as AbortSignal)
    },
  })
  return { api, sent }
}

/** Sends these bytes; then breaks off, or ends. */
function stream(parts: readonly (string | Uint8Array)[], contentType: string, failure?: Error): Response {
  const bytes = parts.map(part => (typeof part === 'string' ? new TextEncoder().encode(part) : part))
  const body = new ReadableStream({
    pull(controller) {
      const next = bytes.shift()
      if (next) controller.enqueue(next)
      else if (failure) controller.error(failure)
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': contentType } })
}

test('the request names the format, and pieces may end within a character or an item', async () => {
  const letter = new TextEncoder().encode('ü')
  const ndjson = () =>
    stream(['{"id":1}\n{"na', 'me":"', letter.slice(0, 1), letter.slice(1), '"}\n'], 'application/x-ndjson')
  const { api, sent } = answering(ndjson)
  assert.deepEqual(await collected(api.goods.export({ format: 'ndjson', where: { price: 1 } })), [
    { id: 1 },
    { name: 'ü' },
  ])
  assert.deepEqual(sent, [
    { url: 'https://api.example.com/api/v1/goods?price[eq]=1', accept: 'application/x-ndjson' },
  ])
})

test('an export that breaks off throws after its last whole item, and is not sent again', async () => {
  for (const [parts, failure] of [
    [['{"id":1}\n', '{"id":'], new Error('cut')],
    [['{"id":1}\n', '{"id":'], undefined],
    [['{"id":1}\n'], new Error('cut')],
  ] as const) {
    const { api, sent } = answering(() => stream(parts, 'application/x-ndjson', failure))
    const got: unknown[] = []
    await assert.rejects(
      async () => {
        for await (const item of api.goods.export({ format: 'ndjson' })) got.push(item)
      },
      { code: 'NETWORK_ERROR' },
    )
    assert.deepEqual([got, sent.length], [[{ id: 1 }], 1])
  }
})

test('an answer of another media type is not taken for an export, and its signal ends one', async () => {
  const json = answering(() => Response.json({ data: [] }))
  await assert.rejects(collected(json.api.goods.export({ format: 'csv', retries: 0 })), {
    code: 'UNEXPECTED_ANSWER',
  })
  const controller = new AbortController()
  const endless = answering(signal => {
    const body = new ReadableStream({
      start(sink) {
        sink.enqueue(new TextEncoder().encode('id\r\n'))
        signal.addEventListener('abort', () => sink.error(signal.reason))
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/csv; charset=utf-8' } })
  })
  await assert.rejects(
    async () => {
      for await (const text of endless.api.goods.export({ format: 'csv', signal: controller.signal })) {
        assert.equal(text, 'id\r\n')
        controller.abort(new Error('left'))
      }
    },
    { message: 'left' },
  )
})

test('the time limit ends an export that does not begin, and not one that has begun', async () => {
  const sockets: Socket[] = []
  const silent = createServer(socket => void sockets.push(socket.on('error', () => {}).resume()))
  await once(silent.listen(0, '127.0.0.1'), 'listening')
  const { port } = Object(silent.address())
  try {
    const api = createClient<typeof shop>({ baseUrl: `http://127.0.0.1:${port}`, timeoutMs: 50 })
    for (const format of ['csv', 'ndjson'] as const) {
      await assert.rejects(collected(api.goods.export({ format, retries: 1 })), { code: 'TIMEOUT' })
    }
  } finally {
    silent.close()
    for (const socket of sockets) socket.destroy()
  }
  // What comes long after the headers still arrives.
  const slow = answering(() => {
    const body = new ReadableStream({
      async pull(sink) {
        await setTimeout(100)
        sink.enqueue(new TextEncoder().encode('id\r\n'))
        sink.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/csv; charset=utf-8' } })
  })
  const parts = await collected(slow.api.goods.export({ format: 'csv', timeoutMs: 20 }))
  assert.deepEqual(parts, ['id\r\n'])
})
