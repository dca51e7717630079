import assert from 'node:assert/strict'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { fill, type ModelName } from '../../bench/data-set/data.ts'
import editorial from '../../bench/data-set/model.ts'
import type { Request } from '../../bench/load/load.ts'
import { type Running, startLimit } from '../../bench/servers/server.ts'
import { cursorsOf } from '../../bench/workloads/measure-varied.ts'
import { variedWorkloads } from '../../bench/workloads/varied-requests.ts'
import { generateKey } from '../../src/identity/keys/key.ts'
import type { Declaration } from '../../src/model/declaration.ts'
import blog from '../models/blog.ts'
import { serveInProcess } from '../setups/serve.ts'
import type { ServiceUnderTest } from '../setups/setup.ts'

/** Enough for some rows to contain W14's common words, and for W18's pages to be full. */
const rowCount = 3_000

interface Pair {
  readonly portico: ServiceUnderTest
  readonly limit: Running
  readonly key: string
}

const declarations: Readonly<Record<ModelName, Declaration>> = { blog, editorial }

async function startPair(model: ModelName, folder: string, closing: (() => unknown)[]): Promise<Pair> {
  const database = join(folder, `${model}.db`)
  const key = generateKey()
  const settings = { database, adminEmail: 'admin@example.com', adminApiKey: key, rateLimit: 'off' } as const
  const service = await serveInProcess(declarations[model], settings)
  await service.close()
  fill(database, rowCount, model)
  const copied = `${database}.limit`
  copyFileSync(database, copied)
  const portico = await serveInProcess(declarations[model], settings)
  closing.push(() => portico.close())
  const limit = await startLimit(copied)
  closing.push(() => limit.stop())
  return { portico, limit, key }
}

async function answer(origin: string, { method, path, body }: Request, key: string): Promise<unknown> {
  const response = await fetch(`${origin}${path}`, {
    method,
    ...(body !== undefined && { body }),
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
  })
  assert.ok(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`)
  return response.json()
}

/** The parts that both servers have: cursors and the cost of a document exist in Portico only. */
function comparable(value: unknown): unknown {
  const { data, meta } = value as { data: unknown; meta?: { total?: number; next_cursor?: unknown } }
  return { data, total: meta?.total }
}

describe('the hand-written server', () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-limit-'))
  const pairs = new Map<ModelName, Pair>()
  const closing: (() => unknown)[] = []

  before(async () => {
    for (const model of ['blog', 'editorial'] as const)
      pairs.set(model, await startPair(model, folder, closing))
  })
  after(async () => {
    for (const close of closing) await close()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const workload of variedWorkloads.filter(({ floor }) => floor.ofLimit !== undefined)) {
    it(`returns the same data as Portico: ${workload.name}`, async () => {
      const pair = pairs.get(workload.model)
      assert.ok(pair)
      const data = { rows: rowCount }
      const porticoRequests = workload.requests(data, await cursorsOf(pair.portico.url, pair.key))
      const limitRequests = workload.requests(data, String)
      assert.equal(porticoRequests.length, limitRequests.length)
      let items = 0
      for (let n = 0; n < 12; n++) {
        const [request, otherRequest] = [porticoRequests[n], limitRequests[n]]
        assert.ok(request && otherRequest)
        const expected = comparable(await answer(pair.limit.origin, otherRequest, pair.key))
        assert.deepEqual(comparable(await answer(pair.portico.url, request, pair.key)), expected)
        items += JSON.stringify(expected).split('"title"').length - 1
      }
      assert.ok(items > 12, `${items} items were compared`)
    })
  }

  it('carries out writes', async () => {
    const { limit } = pairs.get('blog') ?? assert.fail()
    const ask = async (method: string, path: string, body?: object) => {
      const sent = { method, ...(body && { body: JSON.stringify(body) }) }
      const response = await fetch(`${limit.origin}/api/v1/posts${path}`, sent)
      return { status: response.status, text: await response.text() }
    }
    const total = async () => JSON.parse((await ask('GET', '?per_page=1')).text).meta.total
    const before = await total()
    const created = await ask('POST', '', { title: 'new', body: 'text' })
    const { id, ...rest } = JSON.parse(created.text)
    assert.deepEqual([created.status, rest.title, rest.body, await total()], [201, 'new', 'text', before + 1])
    const changed = await ask('PATCH', `/${id}`, { title: 'changed' })
    assert.deepEqual([changed.status, JSON.parse(changed.text).title], [200, 'changed'])
    assert.match((await ask('GET', `/${id}`)).text, /"title":"changed"/)
    assert.deepEqual(await ask('DELETE', `/${id}`), { status: 204, text: '' })
    assert.deepEqual([(await ask('GET', `/${id}`)).status, await total()], [404, before])
    for (const method of ['DELETE', 'PATCH']) assert.equal((await ask(method, `/${id}`, {})).status, 404)
  })
})
