/** Several workers are one service: whatever one of them knows, all do. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { generateKey } from '../../src/auth/key.ts'
import { SettingsError } from '../../src/config.ts'
import { serve } from '../../src/serve.ts'
import blog from '../models/blog.ts'
import rich from '../models/rich.ts'
import { type CrewService, type Lane, modelFile, withCrew } from './crew.ts'

interface Item {
  readonly id: number
  readonly key: string
}

async function made(lane: Lane, collection: string, body: object): Promise<Item> {
  const { status, json } = await lane.ask(`/api/v1/${collection}`, { method: 'POST', body })
  assert.equal(status, 201, JSON.stringify(json))
  return json as unknown as Item
}

function first(lanes: readonly Lane[]): Lane {
  assert.ok(lanes[0])
  return lanes[0]
}

const post = (title: string) => ({ title, body: '', author_id: 1 })

/** In one window, of which the second half of a minute may leave too little. */
async function statusesInOneWindow(crew: CrewService, path: string, count: number): Promise<number[]> {
  const lanes = await Promise.all(crew.lanes.flatMap(lane => [lane, crew.beside(lane), crew.beside(lane)]))
  for (;;) {
    const answers = await Promise.all(
      Array.from({ length: count }, (_, nth) => (lanes[nth % lanes.length] as Lane).ask(path)),
    )
    const windows = new Set(answers.map(({ headers }) => headers['x-ratelimit-reset']))
    if (windows.size === 1) return answers.map(({ status }) => status)
    await sleep(1000)
  }
}

test('three workers grant exactly the limit between them', async () => {
  await withCrew(
    3,
    async crew => {
      // One that was drawn by another test's window does not count: none was.
      const statuses = await statusesInOneWindow(crew, '/api/v1/posts', 150)
      assert.equal(statuses.filter(status => status === 200).length, 100)
      assert.equal(statuses.filter(status => status === 429).length, 50)
    },
    { rateLimit: 100 },
  )
})

test('a key that was revoked at one worker is refused by all; a new one is known to all', async () => {
  await withCrew(3, async ({ lanes }) => {
    for (const by of lanes) {
      const { id, key } = await made(by, 'api_keys', { name: 'x', scopes: ['*'] })
      const asks = () =>
        Promise.all(
          lanes.map(lane => lane.ask('/api/v1/posts', { headers: { Authorization: `Bearer ${key}` } })),
        )
      for (const { status } of await asks()) assert.equal(status, 200)
      assert.equal((await by.ask(`/api/v1/api_keys/${id}`, { method: 'DELETE' })).status, 204)
      for (const { status } of await asks()) assert.equal(status, 401)
    }
  })
})

/** The titles that a subscription at a worker gets, in the order in which they come. */
async function subscription(
  { url, key }: CrewService,
  lane: Lane,
): Promise<{ titles: string[]; close(): void }> {
  const stop = new AbortController()
  for (;;) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: 'subscription { newPost { title } }' }),
      signal: stop.signal,
    })
    assert.equal(response.status, 200)
    const titles: string[] = []
    if (response.headers.get('x-request-id')?.split('.')[0] !== lane.worker) {
      await response.body?.cancel()
      continue
    }
    const read = async () => {
      for await (const chunk of (response.body as ReadableStream).pipeThrough(new TextDecoderStream())) {
        titles.push(...[...String(chunk).matchAll(/"title":"([^"]*)"/g)].map(([, title = '']) => title))
      }
    }
    read().catch(() => {})
    return { titles, close: () => stop.abort() }
  }
}

test('subscribers at every worker get every post once, in one order, whichever worker made it', async () => {
  await withCrew(3, async crew => {
    const subscriptions = await Promise.all(crew.lanes.map(lane => subscription(crew, lane)))
    const count = 60
    // The subscriptions begin with the answer; nothing that is made from now on may be missed.
    await Promise.all(
      Array.from({ length: count }, (_, nth) => made(crew.lanes[nth % 3] as Lane, 'posts', post(`t${nth}`))),
    )
    for (let tries = 0; tries < 500; tries++) {
      if (subscriptions.every(({ titles }) => titles.length >= count)) break
      await sleep(10)
    }
    await sleep(50)
    const { json } = await first(crew.lanes).ask('/api/v1/posts?per_page=100&sort=id')
    const stored = (json as unknown as { data: { title: string }[] }).data.map(({ title }) => title)
    assert.equal(stored.length, count)
    for (const { titles, close } of subscriptions) {
      assert.deepEqual(titles, stored)
      close()
    }
  })
})

test('any worker tells the figures of all of them', async () => {
  await withCrew(3, async ({ lanes }) => {
    for (const lane of lanes) for (let times = 0; times < 5; times++) await lane.ask('/api/v1/posts')
    const name =
      'portico_http_request_duration_seconds_count{method="GET",route="/api/v1/posts",status="2xx"}'
    for (const lane of lanes) {
      const text = await lane.text('/metrics')
      assert.ok(text.includes(`\n${name} 15\n`), text.slice(0, 2000))
      assert.ok(text.includes('\nportico_workers 3\n'))
      assert.ok(text.includes('\nportico_worker_restarts_total 0\n'))
      assert.equal(text.split('# TYPE process_resident_memory_bytes').length, 2)
    }
  })
})

test('writes at all workers at once: all are stored, and each worker counts its own commits', async () => {
  await withCrew(3, async ({ lanes, beside }) => {
    const all = await Promise.all(lanes.flatMap(lane => Array.from({ length: 5 }, () => beside(lane))))
    await Promise.all(
      all.map(async (lane, nth) => {
        for (let turn = 0; turn < 20; turn++) await made(lane, 'posts', post(`${nth} ${turn}`))
      }),
    )
    for (const lane of lanes) {
      const { json } = await lane.ask('/api/v1/posts?per_page=1')
      assert.equal((json.meta as { total: number }).total, 300)
    }
    const text = await first(lanes).text('/metrics')
    // The administrator's start made its own, in the main thread, which is none of the workers.
    assert.match(text, /\nportico_committed_writes_total 300\n/)
  })
})

test('a stop answers what runs, ends idle connections, and leaves nobody listening', async () => {
  await withCrew(2, async ({ service, url, lanes }) => {
    const running = lanes.map(lane => lane.ask('/api/v1/posts', { method: 'POST', body: post('last') }))
    await sleep(5)
    await service.close()
    for (const answer of await Promise.allSettled(running)) {
      if (answer.status === 'fulfilled') assert.ok([201, 503].includes(answer.value.status))
    }
    await assert.rejects(fetch(`${url}/healthz`))
  })
})

test('a start that cannot have several workers says why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-workers-'))
  const given = {
    port: 0,
    host: '127.0.0.1',
    database: join(folder, 'x.db'),
    logLevel: 'silent',
    workers: 2,
  } as const
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const address = taken.address()
  try {
    const about = (pattern: RegExp) => (error: unknown) =>
      error instanceof SettingsError && pattern.test(error.message)
    await assert.rejects(
      serve(blog, given),
      about(/`workers`: more than one worker needs the model as a file/),
    )
    await assert.rejects(serve(rich, { ...given, model: modelFile }), about(/holds another model/))
    const port = typeof address === 'object' ? (address?.port ?? 0) : 0
    await assert.rejects(serve(blog, { ...given, model: modelFile, port }), { code: 'EADDRINUSE' })
  } finally {
    taken.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('as a process: one welcome, whole lines of one log, and a quick end at SIGTERM', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-workers-'))
  const key = generateKey()
  const bin = fileURLToPath(new URL('../../src/bin.ts', import.meta.url))
  const child = spawn(process.execPath, [bin, 'start'], {
    env: {
      ...process.env,
      WORKERS: '2',
      PORT: '0',
      HOST: '127.0.0.1',
      DATABASE_URL: join(folder, 'x.db'),
      PORTICO_MODEL: modelFile,
      PORTICO_ADMIN_API_KEY: key,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exit = once(child, 'exit')
  try {
    const lines: string[] = []
    const listening = Promise.withResolvers<string>()
    createInterface(child.stdout).on('line', line => {
      lines.push(line)
      const [, url] = /listening on (http:\S+?)"/.exec(line) ?? []
      if (url !== undefined) listening.resolve(url)
    })
    const url = await listening.promise
    const count = 400
    const headers = { Authorization: `Bearer ${key}` }
    for (let turn = 0; turn < count / 50; turn++) {
      const answers = await Promise.all(
        Array.from({ length: 50 }, () => fetch(`${url}/api/v1/posts`, { headers, keepalive: false })),
      )
      for (const answer of answers) {
        await answer.text()
        assert.equal(answer.status, 200)
      }
    }
    child.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null])
    const logged = lines.filter(line => line.startsWith('{')).map(line => JSON.parse(line))
    assert.equal(logged.filter(({ path }) => path === '/api/v1/posts').length, count)
    assert.equal(lines.filter(line => line.includes('The first start')).length, 1)
    assert.equal(logged.filter(({ msg }) => msg?.startsWith('listening')).length, 1)
  } finally {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    await exit
    rmSync(folder, { recursive: true, force: true })
  }
})
