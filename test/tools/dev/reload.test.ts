import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { createClient } from 'graphql-ws'
import WebSocket from 'ws'
import { until } from '../../api/transports/service.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { portico } from '../../system/processes/command.ts'
import { library } from '../../system/processes/program.ts'
import { type Development, withDevelopment } from './process.ts'

const withField = (name: string) =>
  `title: string({ max: longest }),\n        ${name}: text({ optional: true }),`

async function fieldsOf(dev: Development): Promise<readonly string[]> {
  await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'x' } })
  const { json } = await dev.call('/api/v1/notes')
  const [first = {}] = json.data as readonly Readonly<Record<string, unknown>>[]
  return Object.keys(first)
}

/** The running processes that it has started. */
function childrenOf(pid: number): readonly string[] {
  return readdirSync('/proc').filter(name => {
    if (!/^\d+$/.test(name)) return false
    try {
      return /^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${name}/status`, 'utf8'))?.[1] === String(pid)
    } catch {
      return false
    }
  })
}

test('edits are served however they are saved, and faults are shown while the last valid model serves', () =>
  withDevelopment({}, async dev => {
    await dev.waitFor(/serves model\.ts/)
    const [, header = '', value = '', url = ''] = await dev.waitFor(/curl -H "(.*?): (.*?)" (\S+)/)
    assert.equal((await fetch(url, { headers: { [header]: value } })).status, 200)
    for (const path of ['/graphql', '/docs', '/account']) assert.ok(dev.output().includes(dev.url + path))

    dev.edit('title: string({ max: longest }),', withField('body'))
    await dev.waitFor(/Migrated: Add the field notes\.body\.\n.*Reloaded in \d+ ms: model\.ts/)
    assert.ok((await fieldsOf(dev)).includes('body'))

    dev.edit('body: text({ optional: true })', 'body: text({ optional: true )')
    await dev.waitFor(
      /model\.ts: the model file cannot be loaded[\s\S]*> +8 \| +body: text\(\{ optional: true \),[\s\S]*\^/,
    )
    await dev.waitFor(/The last good model keeps serving/)
    assert.ok((await fieldsOf(dev)).includes('body'))

    dev.edit('{ optional: true )', '{ optional: true, maxx: 3 } as never)')
    await dev.waitFor(/notes\.fields\.body\.maxx: .*`max`[\s\S]*model\.ts:8:\d+[\s\S]*> +8 \|/)
    dev.edit(', maxx: 3 } as never', ' }')
    dev.write('limits.ts', 'export const longest = 2\nthrow new RangeError("no limits today")\n')
    await dev.waitFor(/RangeError: no limits today[\s\S]*limits\.ts:2:7/)
    dev.write('limits.ts', 'export const longest = 2\n')
    await dev.waitFor(/Reloaded in \d+ ms: model\.ts, limits\.ts/)
    const long = await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'xyz' } })
    assert.equal(long.status, 400)

    // Like editors that write a new file and rename it.
    writeFileSync(join(dev.folder, '.limits.ts.swp'), 'export const longest = 3\n')
    renameSync(join(dev.folder, '.limits.ts.swp'), join(dev.folder, 'limits.ts'))
    await dev.waitFor(/Reloaded in \d+ ms: limits\.ts/)
    assert.equal((await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'xyz' } })).status, 201)

    dev.edit("'./limits.ts'", "'./parts/limits.ts'")
    await dev.waitFor(/Cannot find module '.*parts\/limits\.ts'[\s\S]*model\.ts:2:/)
    mkdirSync(join(dev.folder, 'parts'))
    dev.write('parts/limits.ts', 'export const longest = 4\n')
    await dev.waitFor(/Reloaded in \d+ ms: model\.ts, parts\/limits\.ts/)

    for (let round = 0; round < 20; round++)
      dev.write('parts/limits.ts', `export const longest = ${5 + round}\n`)
    await dev.waitFor(/Reloaded/)
    const { json } = await dev.call('/api/v1/openapi.json')
    assert.match(JSON.stringify(json), /"maxLength":24/)

    const reloads = () => dev.output().match(/Reloaded/g)?.length
    const before = reloads()
    dev.write('parts/limits.ts', dev.read('parts/limits.ts'))
    dev.write('.env', 'PORTICO_BODY_LIMIT=30 B\n')
    await dev.waitFor(/Reloaded in \d+ ms: \.env/)
    assert.equal(reloads(), (before ?? 0) + 1, 'saving without a change causes no reload')
    const body = { title: 'a body of more than thirty bytes' }
    assert.equal((await dev.call('/api/v1/notes', { method: 'POST', body })).status, 413)

    const { pid = 0 } = dev.process
    assert.ok(childrenOf(pid).length > 0)
    assert.equal(await dev.end('SIGINT'), 0)
    assert.deepEqual(childrenOf(pid), [])
  }))

test('requests, events and mails are readable lines, and clients cannot forge lines', () =>
  withDevelopment({ environment: { PORTICO_SIGN_UP: 'confirmed' } }, async dev => {
    await dev.waitFor(/Try it/)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'x' } })
    await dev.waitFor(/POST +\/api\/v1\/notes 201 [\d.]+ ms nobody/)
    assert.match(dev.output(), /event +note\.created 1 no\. \d+/)
    const path = `/api/v1/${encodeURIComponent('a\u001b[2J\r\nGET /forged 200')}`
    await dev.call(path)
    await dev.waitFor(/GET +\/api\/v1\/a%1B\S+ 404/)
    const { port, hostname } = new URL(dev.url)
    const raw = connect(Number(port), hostname)
    raw.end('GET /x\u009b2J\u202e HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    await once(raw.resume(), 'close')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
    assert.doesNotMatch(dev.output().replaceAll('\n', ''), /[\u0000-\u001f\u007f-\u009f\u202e]/)
    const form = new URLSearchParams({
      name: 'Ada',
      email: 'ada@example.com',
      password: 'correct horse battery',
    })
    const page = await fetch(`${dev.url}/account/sign-up`, { headers: { Accept: 'text/html' } })
    const cookie = page.headers
      .getSetCookie()
      .map(cookie => cookie.split(';')[0])
      .join('; ')
    for (const [, name = '', value = ''] of (await page.text()).matchAll(/name="(\w+)" value="([^"]*)"/g)) {
      if (!form.has(name)) form.set(name, value)
    }
    await fetch(`${dev.url}/account/sign-up`, {
      method: 'POST',
      headers: { Cookie: cookie, Origin: dev.url },
      body: form,
    })
    const [, link = ''] = await dev.waitFor(
      /mail +to ada@example\.com: Finish signing up at Portico (http:\S+)/,
    )
    assert.equal(link, `${dev.url}/dev/mail/1`)
    assert.doesNotMatch(dev.output(), /verify\?account=/, 'links are not in the log')
    const mail = await dev.call('/dev/mail/1')
    assert.equal(mail.status, 200)
    assert.match(
      mail.text,
      /<a href="http:\/\/localhost:\d+\/account\/verify\?account=[\w-]+" target="_blank"/,
    )

    dev.edit('anyone, create', 'anyone,   create')
    await dev.waitFor(/Reloaded/)
    const later = await dev.call('/dev/mail')
    assert.match(later.text, /href="\/dev\/mail\/1">.*Finish signing up/, 'the next version shows it, too')
    const statusOf = async (headers: Readonly<Record<string, string>>) =>
      (await dev.call('/dev/mail/1/text', { headers })).status
    assert.equal(await statusOf({}), 200)
    for (const headers of [
      { Origin: 'http://localhost:5173' },
      { 'Sec-Fetch-Site': 'same-site', 'Sec-Fetch-Dest': 'empty' },
      { 'X-Forwarded-For': '192.0.2.1' },
    ])
      assert.equal(await statusOf(headers), 403, JSON.stringify(headers))
    const rebound = connect(Number(port), hostname)
    rebound.end('GET /dev/mail/1/text HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n')
    assert.match(String(await text(rebound)), /^HTTP\/1\.1 403 /)
  }))

interface Load {
  readonly sent: number
  readonly failures: readonly string[]
  stop(): Promise<void>
}

/** Clients that keep their connections and send requests in sequence. */
function load(url: string, clients: number): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  const failures: string[] = []
  const state = { sent: 0, isOver: false }
  const sendOne = async () => {
    const sent = request(`${url}/api/v1/notes`, {
      agent,
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    })
    sent.end('{"title":"x"}')
    const [response] = await once(sent, 'response')
    response.resume()
    await once(response, 'end')
    if (response.statusCode !== 201) throw new Error(`status ${response.statusCode}`)
    state.sent++
  }
  const client = async () => {
    while (!state.isOver) await sendOne().catch(error => void failures.push(String(error)))
  }
  const all = Array.from({ length: clients }, client)
  return {
    get sent() {
      return state.sent
    },
    failures,
    async stop() {
      state.isOver = true
      await Promise.all(all)
      agent.destroy()
    },
  }
}

interface Follower {
  /** The items of the events, in order. */
  readonly items: readonly number[]
  connections(): number
  stop(): Promise<void>
}

/** The events of one connection, until it ends. */
type Listen = (
  last: string | undefined,
  onEvent: (event: string, item: number) => void,
  signal: AbortSignal,
) => Promise<void>

/** Reads events, and resumes after a connection has ended, as browsers do. */
function follow(listen: Listen): Follower {
  const items: number[] = []
  const controller = new AbortController()
  const { signal } = controller
  let last: string | undefined
  let connections = 0
  const onEvent = (event: string, item: number) => {
    last = event
    items.push(item)
  }
  const all = (async () => {
    while (!signal.aborted) {
      await listen(last, onEvent, signal).catch(() => {})
      connections++
    }
  })()
  return {
    items,
    connections: () => connections,
    async stop() {
      controller.abort()
      await all
    },
  }
}

type Ask = (last: string | undefined) => readonly [path: string, init: RequestInit]

/** Over server-sent events. `item`: finds the item's id in the text of an event. */
function listenToStream(url: string, ask: Ask, item: RegExp): Listen {
  return async (last, onEvent, signal) => {
    const [path, init] = ask(last)
    const headers = { ...init.headers, Accept: 'text/event-stream' }
    const response = await fetch(url + path, { ...init, headers, signal })
    let text = ''
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = `${text}${chunk}`.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) {
        const [, event] = /^id: (\d+)$/m.exec(block) ?? []
        const [, id] = item.exec(block) ?? []
        if (event !== undefined && id !== undefined) onEvent(event, Number(id))
      }
    }
  }
}

const subscription = (last: string | undefined) => ({
  query: 'subscription ($after: ID) { newNote(after: $after) { id } }',
  variables: { after: last },
})

/** Over a WebSocket. `codes` receives the codes that close it. */
function overWebSocket(url: string, codes: number[]): Listen {
  return async (last, onEvent, signal) => {
    const client = createClient({
      url: `${url.replace('http', 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      retryAttempts: 0,
    })
    client.on('closed', event => codes.push((event as CloseEvent).code))
    const results = client.iterate<{ newNote: { id: string } }, { eventId?: string }>(subscription(last))
    signal.addEventListener('abort', () => void results.return?.())
    for await (const { data, extensions } of results)
      if (data) onEvent(String(extensions?.['eventId']), Number(data.newNote.id))
  }
}

const graphqlStream: Ask = last => [
  '/graphql',
  {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(subscription(last)),
  },
]
const eventStream: Ask = last => [
  '/api/v1/events',
  { headers: last === undefined ? {} : { 'Last-Event-ID': last } },
]

/** Uses a new connection, because an idle one may have been closed. */
async function newestNote(dev: Development): Promise<number> {
  const sent = request(`${dev.url}/api/v1/notes?per_page=1&sort=-id`, { agent: false }).end()
  const [response] = await once(sent, 'response')
  const { data } = JSON.parse(await text(response)) as { data: readonly { readonly id: number }[] }
  return data[0]?.id ?? 0
}

/** Reloads three times under load. */
async function reloadUnderLoad(dev: Development): Promise<void> {
  await dev.waitFor(/Try it/)
  const codes: number[] = []
  const followers = [
    follow(listenToStream(dev.url, eventStream, /"item_id":(\d+)/)),
    follow(listenToStream(dev.url, graphqlStream, /"newNote":\{"id":"(\d+)"/)),
    follow(overWebSocket(dev.url, codes)),
  ]
  // Each has begun before the first event that counts.
  while (followers.some(({ items }) => items.length === 0)) {
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'x' } })
  }
  const begun = await newestNote(dev)
  const clients = load(dev.url, 8)
  try {
    for (let round = 0; round < 3; round++) {
      const before = clients.sent
      while (clients.sent < before + 50 && clients.failures.length === 0) await new Promise(setImmediate)
      dev.write('limits.ts', `export const longest = ${50 + round}\n`)
      await dev.waitFor(/Reloaded/)
      // Each reload ends its streams.
      await until(() => followers.every(follower => follower.connections() > round), 10_000)
    }
    // The serving process, and the one that waits for the next version.
    await until(() => childrenOf(dev.process.pid ?? 0).length <= 2, 10_000)
    await clients.stop()
    assert.deepEqual(clients.failures, [], dev.output())
    const newest = await newestNote(dev)
    const written = Array.from({ length: newest - begun }, (_, index) => begun + 1 + index)
    for (const { items } of followers) {
      const seenItems = () => items.filter(item => item > begun)
      await until(() => seenItems().length >= written.length, 10_000)
      // Commits of several connections to PostgreSQL need not be in the order of ids.
      assert.deepEqual(
        seenItems().sort((a, b) => a - b),
        written,
        'each event once',
      )
    }
    assert.deepEqual([...new Set(codes)], [1001])
  } finally {
    await Promise.all([clients, ...followers].map(client => client.stop()))
  }
}

const busy = { PORTICO_RATE_LIMIT: 'off', LOG_LEVEL: 'warn', PORTICO_SHUTDOWN: 'grace=1 h' }

test('no request is lost during reloads, and event streams, subscriptions and WebSockets resume', () =>
  withDevelopment({ environment: busy }, reloadUnderLoad))

test('no request is lost during reloads on PostgreSQL', () =>
  withPostgres(url =>
    withDevelopment(
      {
        environment: {
          ...busy,
          DATABASE_URL: url,
          PORTICO_SECRET_KEY: 'a-key-of-this-test-alone-0123456789',
        },
      },
      reloadUnderLoad,
    ),
  ))

test('a migration that loses data requires a confirmation or the command', () =>
  withDevelopment({}, async dev => {
    await dev.waitFor(/Try it/)
    dev.edit('title: string({ max: longest }),', "name: string({ max: longest, renamedFrom: 'title' }),")
    await dev.waitFor(
      /changes the database:\n.*Rename the field notes\.title to name[\s\S]*`portico migrate --apply`, or/,
    )
    dev.edit("name: string({ max: longest, renamedFrom: 'title' }),", 'title: string({ max: longest }),')
    dev.edit('title: string({ max: longest }),', withField('body'))
    await dev.waitFor(/Reloaded/)
    dev.edit('body: text({ optional: true }),', '')
    await dev.waitFor(/! Drop the field notes\.body[\s\S]*portico migrate --apply --allow-destructive/)
    assert.ok((await fieldsOf(dev)).includes('body'))
    dev.edit('title: string({ max: longest }),', withField('content'))
    await dev.waitFor(
      /! Drop the field notes\.body[\s\S]*renamedFrom[\s\S]*The last good model keeps serving/,
    )
    dev.edit('notes: collection', 'papers: collection')
    await dev.waitFor(/! Drop the collection notes[\s\S]*renamedFrom/)
    dev.edit('papers: collection', 'notes: collection')
    const args = ['migrate', '--apply', '--allow-destructive', '--model', 'model.ts']
    assert.equal((await portico(args, { folder: dev.folder })).code, 0)
    await dev.waitFor(/Reloaded/)
    const fields = await fieldsOf(dev)
    assert.ok(fields.includes('content') && !fields.includes('body'))
  }))

const crashing = `
import { anyone, collection, model, on, string } from 'PORTICO'
export default model({
  notes: collection({
    fields: { title: string() },
    access: { read: anyone, create: anyone },
    prepare: ({ next }) => {
      if (next.title === 'crash') process.kill(process.pid, 'SIGKILL')
      if (next.title === 'loop') for (;;);
      if (next.title === 'fault') throw new TypeError('by the model')
      if (next.title === 'detach') process.disconnect()
      return {}
    },
  }),
}, {
  reactions: {
    failing: on('note.created', ({ event }) => {
      if (event.data.title === 'reaction') throw new TypeError('by the reaction')
    }),
  },
})
`

const limits = { PORTICO_LOGIC_LIMITS: 'action=900 ms, code=1 s' }

test('a crashed process is restarted, with the last valid model if the files have a fault, and a port in use is reported with its owner', () =>
  withDevelopment({ args: ['--yes'], environment: limits }, async dev => {
    await dev.waitFor(/Try it/)
    dev.write('model.ts', crashing.replace('PORTICO', library))
    await dev.waitFor(/Reloaded/)
    const fault = await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'fault' } })
    assert.equal(fault.status, 500)
    await dev.waitFor(/notes\.prepare has failed\.: by the model[\s\S]*> +10 \|/)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'reaction' } })
    await dev.waitFor(/a reaction has failed reaction=failing[\s\S]*by the reaction[\s\S]*> +18 \|/)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'crash' } }).catch(() => {})
    await dev.waitFor(/has exited \(SIGKILL\)/)
    assert.equal((await dev.call('/api/v1/notes')).status, 200)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'loop' } }).catch(() => {})
    await dev.waitFor(
      /code of the model does not return: the process ends with code 70 place=notes\.prepare[\s\S]*> +9 \|[\s\S]*has exited \(exit code 70\)/,
    )
    assert.equal((await dev.call('/api/v1/notes')).status, 200)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'detach' } }).catch(() => {})
    const others = Array.from({ length: 10 }, () => dev.call('/api/v1/notes'))
    for (const { status } of await Promise.all(others)) assert.equal(status, 200)
    await dev.waitFor(/has exited \(exit code 0\)/)
    dev.write('parts.ts', 'export const word: string = "detach"\n')
    dev.write(
      'model.ts',
      `import { word } from './parts.ts'\n${dev.read('model.ts').replace("'detach'", 'word')}`,
    )
    await dev.waitFor(/Reloaded/)
    rmSync(join(dev.folder, 'parts.ts'))
    dev.write('model.ts', 'export default model({')
    await dev.waitFor(/The last good model keeps serving/)
    await dev.call('/api/v1/notes', { method: 'POST', body: { title: 'crash' } }).catch(() => {})
    await dev.waitFor(/has exited \(SIGKILL\)[\s\S]*The last good model is served again/)
    assert.equal((await dev.call('/api/v1/notes')).status, 200)
    dev.write('model.ts', crashing.replace('PORTICO', library))
    await dev.waitFor(/Reloaded in \d+ ms: .*model\.ts/)
    const { port } = new URL(dev.url)
    const environment = { HOST: '127.0.0.1', PORT: port, PORTICO_MODEL: undefined }
    for (const command of ['dev', 'start']) {
      const other = await portico([command], { folder: dev.folder, environment })
      assert.equal(other.code, 1)
      assert.match(
        other.err,
        /EADDRINUSE.*another program listens on this port \(.*process \d+\)\. Set PORT to a free one, e\.g\. PORT=\d+/,
      )
    }
  }))
