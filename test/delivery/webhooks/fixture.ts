/** Webhook senders on a real database, with endpoints and a clock of the tests. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { createEventViews } from '../../../src/api/events/show-event.ts'
import { type Principal, user } from '../../../src/base/principal.ts'
import { OutgoingError } from '../../../src/delivery/outgoing/errors.ts'
import type { OutgoingRequest, OutgoingResponse } from '../../../src/delivery/outgoing/outgoing.ts'
import type { Webhook } from '../../../src/delivery/webhooks/delivery.ts'
import type { SenderParts } from '../../../src/delivery/webhooks/sender.ts'
import { WebhookSender } from '../../../src/delivery/webhooks/sender.ts'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { listShape, readAll } from '../../../src/engine/plan/system-plans.ts'
import type { EventLog, Store } from '../../../src/engine/store/store.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import { blog, Client, type Values } from '../../engine/store/blog.ts'
import type { DatabaseKind, TestDatabase } from '../../engine/store/databases.ts'
import { type FakeClock, fakeClock } from './clock.ts'

export interface Received {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly event: Readonly<Record<string, JsonValue>>
}

/** The response of an endpoint: a status, possibly with headers and a body, or a connection error. */
export type EndpointResponse =
  | number
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  | Error
export type Endpoint = (received: Received) => EndpointResponse | Promise<EndpointResponse>

export interface OwnerState {
  /** The users of an app's webhook. */
  users: number[]
  /** Users whose permissions have ended. */
  readonly ended: Set<number>
  readonly secrets: string[]
  readonly notified: string[]
}

export const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`

export interface Fixture {
  readonly store: Store
  readonly client: Client
  readonly run: Run
  readonly clock: FakeClock
  readonly owned: OwnerState
  /** All requests, in order. */
  readonly received: Received[]
  readonly faults: unknown[]
  readonly gaps: (readonly [number, number])[]
  /** By URL; others respond 200. */
  readonly endpoints: Map<string, Endpoint>
  readonly annId: number
  /** Creates a webhook of Ann's that starts with the next event. */
  webhook(values?: Values): Promise<number>
  post(title?: string): Promise<number>
  sender(parts?: Partial<SenderParts>): WebhookSender
  deliveries(): Promise<readonly DeliveryRow[]>
  webhooks(): Promise<readonly Readonly<Record<string, JsonValue>>[]>
  webhookRow(id: number): Promise<Readonly<Record<string, JsonValue>>>
  /** Advances the clock until the condition holds. */
  until(condition: () => boolean | Promise<boolean>, description: string, stepMs?: number): Promise<void>
}

export interface DeliveryRow {
  readonly id: number
  readonly webhook_id: number
  readonly event_id: string | null
  readonly type: string
  readonly item_id: number | null
  readonly user_id: number | null
  readonly message_id: string
  readonly attempt: number
  readonly status: string
  readonly due_at: string | null
  readonly response_status: number | null
  readonly response_excerpt: string | null
  readonly error: string | null
}

const deliveryRows = listShape('webhook_deliveries', [
  'id',
  'webhook_id',
  'event_id',
  'type',
  'item_id',
  'user_id',
  'message_id',
  'attempt',
  'status',
  'due_at',
  'response_status',
  'response_excerpt',
  'error',
])
const webhookRows = listShape('webhooks', [
  'id',
  'enabled',
  'paused_at',
  'pause_reason',
  'position',
  'failing_since',
])

/** All methods, so that tests can replace some. */
export const delegating = (changes: EventLog): EventLog => ({
  last: () => changes.last(),
  bounds: () => changes.bounds(),
  hold: (name, event) => changes.hold(name, event),
  counts: () => changes.counts(),
  after: (event, limit, maxBytes) => changes.after(event, limit, maxBytes),
  onCommit: listener => changes.onCommit(listener),
  poll: () => changes.poll(),
})

/** Runs `use` with a store on a database, and stops the senders that it created. */
export function within(
  databaseKind: DatabaseKind,
  use: (fixture: Fixture, database: TestDatabase) => Promise<void>,
) {
  return () =>
    databaseKind.within(async database => {
      const store = await database.open(blog)
      const opened = await open(store)
      try {
        await use(opened.fixture, database)
        assert.deepEqual(opened.fixture.faults, [])
      } finally {
        await opened.close()
        await store.close()
      }
    })
}

async function open(store: Store) {
  const client = new Client(store)
  const clock = fakeClock(Date.now())
  const owned: OwnerState = { users: [], ended: new Set(), secrets: [secret], notified: [] }
  const received: Received[] = []
  const faults: unknown[] = []
  const gaps: (readonly [number, number])[] = []
  const endpoints = new Map<string, Endpoint>()
  const senders: WebhookSender[] = []
  const run = createRun(createGuard(blog), store)
  const ann = await client.create('users', { name: 'Ann', email: 'ann@example.com' })
  const fixture: Fixture = {
    store,
    client,
    run,
    clock,
    owned,
    received,
    faults,
    gaps,
    endpoints,
    annId: ann.id,
    async webhook(values = {}) {
      const position = await store.changes.last()
      const defaults = {
        url: 'https://one.example/hook',
        types: ['*'],
        collections: ['posts'],
        enabled: true,
      }
      const { id } = await client.create('webhooks', { user_id: ann.id, position, ...defaults, ...values })
      return id
    },
    async post(title = 'a post') {
      return (await client.create('posts', { title, author_id: ann.id })).id
    },
    sender(parts = {}) {
      const sender = new WebhookSender({ ...partsOf(fixture), ...parts })
      senders.push(sender)
      sender.start()
      return sender
    },
    async deliveries() {
      await store.refresh()
      return readAll<DeliveryRow>(run, deliveryRows)
    },
    async webhooks() {
      await store.refresh()
      return readAll<Readonly<Record<string, JsonValue>>>(run, webhookRows)
    },
    async webhookRow(id) {
      const row = (await fixture.webhooks()).find(row => row['id'] === id)
      if (row === undefined) throw new Error(`there is no webhook ${id}`)
      return row
    },
    async until(condition, description, stepMs = 100) {
      const deadline = performance.now() + 120_000
      while (!(await condition())) {
        if (performance.now() > deadline) throw new AggregateError(faults, `never: ${description}`)
        await (stepMs < 60_000 ? clock.advance(stepMs) : clock.jump(stepMs))
        await sleep(2)
      }
    },
  }
  const close = async () => {
    const stopping = Promise.all(senders.map(sender => sender.stop()))
    let isStopped = false
    void stopping.finally(() => {
      isStopped = true
    })
    while (!isStopped) {
      await clock.advance(500)
      await sleep(2)
    }
    await stopping
  }
  return { fixture, close }
}

function partsOf({ store, run, clock, owned, received, faults, gaps, endpoints }: Fixture): SenderParts {
  const views = createEventViews(blog, run)
  const principalOf = ({ userId }: Webhook, installer: number | null): Principal | undefined => {
    const id = installer ?? userId
    return owned.ended.has(id) ? undefined : user(id, 'user', 'all')
  }
  return {
    run,
    records: store.records,
    log: store.changes,
    show: (change, principal) => views.show(change, principal),
    possibleTypes: ({ collection, kind, type }) => {
      const singular = blog.collections.get(collection)?.singular
      const usual = type ?? `${singular}.${kind}`
      return kind === 'updated' ? [usual, `${singular}.deleted`] : [usual]
    },
    owners: {
      usersOf: () => owned.users,
      principalOf,
      secretsOf: () => owned.secrets,
    },
    outgoing: { request: request => answerOf(request, { received, endpoints }) },
    userAgent: 'Portico-Test',
    clock,
    elapsed: () => 0,
    random: () => 0.5,
    version: () => store.version('webhooks'),
    hold: event => store.changes.hold('webhooks', event),
    onPaused: ({ id }, reason) => void owned.notified.push(`${id} ${reason}`),
    onGap: (_webhook, from, to) => void gaps.push([from, to]),
    onFault: error => void faults.push(error),
  }
}

async function answerOf(
  { url, headers = {}, body = '', maxBodyBytes, signal }: OutgoingRequest,
  { received, endpoints }: Pick<Fixture, 'received' | 'endpoints'>,
): Promise<OutgoingResponse> {
  const message = { url, headers, body, event: JSON.parse(body) }
  received.push(message)
  const aborted = Promise.withResolvers<Error>()
  signal?.addEventListener('abort', () => aborted.resolve(new OutgoingError('aborted', 'given up')))
  const answer = await Promise.race([endpoints.get(url)?.(message) ?? 200, aborted.promise])
  if (answer instanceof Error) throw answer
  const response = typeof answer === 'number' ? { status: answer } : answer
  return {
    status: response.status,
    headers: response.headers ?? {},
    body: Buffer.from(response.body ?? '').subarray(0, maxBodyBytes),
  }
}
