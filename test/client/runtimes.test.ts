/** The client on every runtime, against a service in a process of its own, behind a proxy that injects faults. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { createClient } from '../../src/client.ts'
import type model from '../models/tracker.ts'
import { openBrowser } from '../system/browser/chromium.ts'
import { bundledClient, runtime } from './bundle.ts'
import { type FaultyProxy, openFaultyProxy } from './faulty-proxy.ts'

const apiKey = 'pk_0123456789abcdefghij'
const tracker = join(import.meta.dirname, '..', '..', 'examples', 'tracker', 'model.ts')
const docs = join(import.meta.dirname, '..', '..', 'docs', 'client.md')

/** The expected output of each runtime. */
const expectedResults = {
  items: {
    stale: 'PRECONDITION_FAILED',
    points: 5,
    found: [[['Dig, & sow?', 'Garden']], 2],
    walked: ['Dig, & sow?', 'Task 1', 'Task 2', 'Task 3'],
    aggregates: [{ urgent: false, count: 4, sum: { points: 11 } }],
    count: 2,
    missing: null,
    first: { title: 'Task 1', comment_count: 0 },
    error: [true, 400, 'VALIDATION_FAILED', ['titel', 'title']],
    hasRequestId: true,
  },
  logic: { batch: ['$a.b', '$5', true, 4], query: [0, 1], action: 'string', me: 'admin' },
  faults: {
    once: 1,
    codes: ['HTTP_502', 'TIMEOUT', 'RangeError'],
    retried: 1,
    nobody: 'NETWORK_ERROR',
    refused: 'UNAUTHORIZED',
    renewed: 'admin',
  },
  events: {
    titles: ['a', 'b', 'c', 'd', 'e'],
    again: ['b', 'c'],
    unique: 5,
    connections: [true, false, true, false, true, false],
    lost: [true, 'RESYNC_REQUIRED', 410],
    next: 'string',
  },
}

const page = '<!doctype html><title>App</title>'
const worker = `import * as client from '/client.js'
import { scenario } from '/scenario.mjs'
onmessage = async ({ data }) => postMessage(await scenario(client, data).catch(error => String(error.stack)))`

let folder: string
let bundle: string
let proxy: FaultyProxy

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'portico-client-'))
  bundle = await bundledClient()
  const scenario = readFileSync(join(import.meta.dirname, 'scenario.mjs'), 'utf8')
  const main = `import * as client from './client.js'
import { scenario } from './scenario.mjs'
console.log(JSON.stringify(await scenario(client, JSON.parse(process.argv[2]))))`
  const program = `import process from 'node:process'\n${main}`
  writeFileSync(join(folder, 'client.js'), bundle)
  writeFileSync(join(folder, 'scenario.mjs'), scenario)
  writeFileSync(join(folder, 'main.mjs'), program)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  proxy = await openFaultyProxy({
    folder,
    environment: {
      PORTICO_MODEL: tracker,
      PORTICO_ADMIN_API_KEY: apiKey,
      PORTICO_RATE_LIMIT: 'off',
      DATABASE_URL: join(folder, 'data.db'),
    },
    files: new Map<string, readonly [string, string]>([
      ['/page', ['text/html', page]],
      ['/client.js', ['text/javascript', bundle]],
      ['/scenario.mjs', ['text/javascript', scenario]],
      ['/worker.mjs', ['text/javascript', worker]],
    ]),
  })
})
after(async () => {
  await proxy.close()
  rmSync(folder, { recursive: true, force: true })
})

const optionsFor = (name: string) => ({ baseUrl: `http://127.0.0.1:${proxy.port}`, token: apiKey, name })

async function resultsOf(program: string, words: readonly string[], name: string): Promise<unknown> {
  const run = promisify(execFile)(program, [...words, 'main.mjs', JSON.stringify(optionsFor(name))], {
    cwd: folder,
  })
  return JSON.parse((await run).stdout)
}

test('the client works on Node', async () => {
  assert.deepEqual(await resultsOf(process.execPath, [], 'Node'), expectedResults)
})

test('the client works on Deno', async () => {
  const words = ['run', '--quiet', '--no-config', `--allow-net=127.0.0.1`]
  assert.deepEqual(await resultsOf(await runtime('deno'), words, 'Deno'), expectedResults)
})

test('the client works on Bun', async () => {
  assert.deepEqual(await resultsOf(await runtime('bun'), ['run'], 'Bun'), expectedResults)
})

test('the client works in Chromium, in a page and a worker of another origin', async () => {
  const browser = await openBrowser()
  try {
    const tab = await browser.newPage()
    await tab.goto(`http://localhost:${proxy.port}/page`)
    const inPage = `(async () => {
      const [client, { scenario }] = [await import('/client.js'), await import('/scenario.mjs')]
      return scenario(client, ${JSON.stringify(optionsFor('page'))})
    })()`
    assert.deepEqual(asJson(await tab.evaluate(inPage)), expectedResults)
    const inWorker = `new Promise(resolve => {
      const worker = new Worker('/worker.mjs', { type: 'module' })
      worker.onmessage = ({ data }) => resolve(data)
      worker.postMessage(${JSON.stringify(optionsFor('worker'))})
    })`
    assert.deepEqual(asJson(await tab.evaluate(inWorker)), expectedResults)
  } finally {
    await browser.close()
  }
})

test('a subscription continues with a new credential when the old one expires', async () => {
  const { baseUrl, token: key } = optionsFor('')
  const keys = createClient<typeof model>({ baseUrl, token: key })
  const expires_at = new Date(Date.now() + 1_500).toISOString()
  const short = await keys.api_keys.create({ name: 'Short', scopes: ['*'], expires_at })
  const refused: (string | undefined)[] = []
  const token = (old?: string) => {
    if (old !== undefined) refused.push(old)
    return refused.length === 0 ? short.key : key
  }
  const states: boolean[] = []
  const onConnection = (isConnected: boolean) => states.push(isConnected)
  const { organizations, events } = createClient<typeof model>({ baseUrl, token })
  const following = events.subscribe({ collections: ['organizations'], onConnection })
  const first = following.next()
  await keys.organizations.found({ name: 'Before' })
  assert.equal((await first).value?.data?.name, 'Before')
  const second = following.next()
  while (states.length < 3) await keys.events.list({ wait: 1, limit: 1 })
  await organizations.found({ name: 'After' })
  assert.equal((await second).value?.data?.name, 'After')
  assert.deepEqual([refused, states], [[short.key], [true, false, true]])
  await following.return?.()
})

/** The value as the programs print it, without undefined members. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

test('the bundle has the documented size, and no dependencies', () => {
  const kilobytes = gzipSync(bundle, { level: 9 }).length / 1_000
  assert.ok(kilobytes < 10, `${kilobytes} kB`)
  assert.doesNotMatch(bundle, /\bimport\b\s*[{*"'(]|\brequire\(|node:/)
  assert.ok(
    readFileSync(docs, 'utf8').includes(`${kilobytes.toFixed(1)} kB`),
    `docs/client.md: ${kilobytes} kB`,
  )
})
