/** Tabs of one app: a duplicated tab has a copy of the tokens, and each refresh token works once. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Channel } from '../../src/client/sign-in/page.ts'
import type { AuthorizationServer, TokenResponse } from '../../src/client/sign-in/server.ts'
import { TokenStore } from '../../src/client/sign-in/tokens.ts'

/** The channels of all tabs, of which suspended ones receive nothing. */
const channels = new Set<FakeChannel>()

class FakeChannel implements Channel {
  readonly #name: string
  isSuspended = false
  onmessage: Channel['onmessage'] = null

  constructor(name: string) {
    this.#name = name
    channels.add(this)
  }

  postMessage(message: unknown): void {
    const data = structuredClone(message)
    for (const channel of channels) {
      if (channel === this || channel.#name !== this.#name || channel.isSuspended) continue
      setImmediate(() => channel.onmessage?.({ data }))
    }
  }
}

const globals = globalThis as unknown as Record<string, unknown>
const replaced = { BroadcastChannel: globals.BroadcastChannel, sessionStorage: globals.sessionStorage }

function replaceGlobals(values: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(values)) {
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
}

before(() => replaceGlobals({ BroadcastChannel: FakeChannel }))
after(() => replaceGlobals(replaced))

/** Gives each refresh token one successor, as the service does. */
class FakeServer {
  count = 1
  lifetimeSeconds = 3600
  readonly refreshed: string[] = []
  readonly revoked: string[] = []

  first(): TokenResponse {
    return { access_token: 'access 1', refresh_token: 'refresh 1', expires_in: 3600 }
  }

  async refresh(_clientId: string, token: string): Promise<TokenResponse> {
    this.refreshed.push(token)
    this.count += 1
    const expires_in = this.lifetimeSeconds
    return { access_token: `access ${this.count}`, refresh_token: `refresh ${this.count}`, expires_in }
  }

  async revoke(_clientId: string, token: string): Promise<void> {
    this.revoked.push(token)
  }
}

class FakeStorage {
  readonly #values: Map<string, string>

  constructor(values: Iterable<readonly [string, string]> = []) {
    this.#values = new Map(values)
  }

  copy(): FakeStorage {
    return new FakeStorage(this.#values)
  }

  getItem(key: string): string | null {
    return this.#values.get(key) ?? null
  }

  setItem(key: string, value: string): void {
    this.#values.set(key, value)
  }

  removeItem(key: string): void {
    this.#values.delete(key)
  }
}

interface Tab {
  readonly tokens: TokenStore
  readonly storage: FakeStorage
  readonly channel: FakeChannel
  readonly changes: readonly boolean[]
}

let apps = 0

/** An app whose user has signed in, in one tab. `duplicate` opens another, with a copy of its tokens. */
function openApp() {
  const server = new FakeServer()
  const name = `app ${apps++}`
  const open = (storage: FakeStorage): Tab => {
    replaceGlobals({ sessionStorage: storage })
    const changes: boolean[] = []
    const tokens = new TokenStore({
      server: server as unknown as AuthorizationServer,
      clientId: 'app',
      name,
      storage: 'session',
      onChange: isSignedIn => changes.push(isSignedIn),
    })
    const channel = [...channels].at(-1) ?? assert.fail('a tab has a channel')
    return { tokens, storage, channel, changes }
  }
  const first = open(new FakeStorage())
  first.tokens.store(server.first())
  return { server, first, duplicate: ({ storage }: Tab) => open(storage.copy()) }
}

/** The messages that were posted have arrived. */
const delivered = () => new Promise(setImmediate)

test('a tab that was suspended during two refreshes gets the present tokens, and sends no old one', async () => {
  const { server, first, duplicate } = openApp()
  const second = duplicate(first)
  second.channel.isSuspended = true
  assert.equal(await first.tokens.access('access 1'), 'access 2')
  assert.equal(await first.tokens.access('access 2'), 'access 3')
  second.channel.isSuspended = false
  assert.equal(await second.tokens.access('access 1'), 'access 3')
  assert.deepEqual(server.refreshed, ['refresh 1', 'refresh 2'])
  // It can tell a third one, as the first could.
  first.channel.isSuspended = true
  const third = duplicate(second)
  third.channel.isSuspended = true
  assert.equal(await second.tokens.access('access 3'), 'access 4')
  first.channel.isSuspended = false
  third.channel.isSuspended = false
  assert.equal(await third.tokens.access('access 3'), 'access 4')
  assert.equal(await first.tokens.access('access 3'), 'access 4')
  assert.deepEqual(server.refreshed, ['refresh 1', 'refresh 2', 'refresh 3'])
})

test('a refresh by one tab gives every tab the new tokens, and tabs refresh one at a time', async () => {
  const { server, first, duplicate } = openApp()
  const tabs = [first, duplicate(first), duplicate(first)]
  assert.equal(await first.tokens.access('access 1'), 'access 2')
  await delivered()
  for (const { tokens } of tabs) assert.equal(await tokens.access(), 'access 2')
  const refused = tabs.map(({ tokens }) => tokens.access('access 2'))
  assert.deepEqual(new Set(await Promise.all(refused)), new Set(['access 3']))
  assert.deepEqual(server.refreshed, ['refresh 1', 'refresh 2'])
  assert.deepEqual(tabs[1]?.changes, [])
})

test('a sign-out in one tab applies to every tab, also to one that was suspended', async () => {
  const { server, first, duplicate } = openApp()
  const [second, third] = [duplicate(first), duplicate(first)]
  third.channel.isSuspended = true
  await first.tokens.end()
  await delivered()
  assert.deepEqual(
    [first, second, third].map(({ tokens }) => tokens.isSignedIn),
    [false, false, true],
  )
  third.channel.isSuspended = false
  assert.equal(await third.tokens.access('access 1'), undefined)
  assert.deepEqual(
    [first, second, third].map(({ changes }) => changes.at(-1)),
    [false, false, false],
  )
  assert.deepEqual([server.refreshed, server.revoked], [[], ['refresh 1']])
})

test('a tab in which someone else has signed in keeps those tokens', async () => {
  const { first, duplicate } = openApp()
  const second = duplicate(first)
  second.tokens.store({ access_token: 'of Ben', refresh_token: 'refresh of Ben', expires_in: 3600 })
  assert.equal(await first.tokens.access('access 1'), 'access 2')
  await delivered()
  assert.equal(await second.tokens.access(), 'of Ben')
  await first.tokens.end()
  await delivered()
  assert.equal(await second.tokens.access(), 'of Ben')
})

test('a tab whose others do not answer refreshes the tokens itself', async t => {
  const { server, first, duplicate } = openApp()
  const second = duplicate(first)
  second.channel.isSuspended = true
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const refreshing = first.tokens.access('access 1')
  await delivered()
  assert.deepEqual(server.refreshed, [])
  t.mock.timers.tick(1_000)
  assert.equal(await refreshing, 'access 2')
  // A refused token of former days does not end the present tokens.
  assert.equal(await first.tokens.access('access 1'), 'access 2')
})

test('tokens are refreshed before they expire, and not when they are new', async t => {
  t.mock.timers.enable({ apis: ['Date'] })
  const { server, first } = openApp()
  t.mock.timers.tick(3_600_000 - 30_001)
  assert.equal(await first.tokens.access(), 'access 1')
  t.mock.timers.tick(1)
  assert.equal(await first.tokens.access(), 'access 2')
  // Of a short life, half.
  server.lifetimeSeconds = 20
  assert.equal(await first.tokens.access('access 2'), 'access 3')
  t.mock.timers.tick(9_999)
  assert.equal(await first.tokens.access(), 'access 3')
  t.mock.timers.tick(1)
  assert.equal(await first.tokens.access(), 'access 4')
})
