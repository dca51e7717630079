/**
 * A marketplace takes payments while its processes are killed: its money and its seats equal the ledger of the provider.
 * Actions, a route, reactions and a job take part, and every webhook comes three times, in any order.
 */
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { caseCount, seed, seeded } from '../../cases.ts'
import { call } from '../../server/serve/service.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { secretKey } from '../../setups/postgres.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { type NodeCluster, startCluster } from '../nodes/cluster.ts'
import { until } from '../nodes/webhooks.ts'
import type { Ledger } from './provider.ts'

const bookings = caseCount(200, 60)
const kills = caseCount(50, 10)
const buyers = 8
const sessions = 4
/** Between two bookings of a buyer: they last about as long as the kills. */
const pauseMs = (kills * 700 * buyers) / bookings
/** Four bookings of five find a seat. */
const capacity = Math.floor((bookings * 4) / 5 / sessions)

interface Provider {
  readonly url: string
  ask(path: string, body?: object): Promise<Ledger>
  close(): void
}

async function startProvider(): Promise<Provider> {
  const child = fork(join(import.meta.dirname, 'provider.ts'), {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  const [line] = await once(child.stdout ?? assert.fail(), 'data')
  const url = String(line).trim()
  return {
    url,
    async ask(path, body = {}) {
      const answer = await fetch(url + path, { method: 'POST', body: JSON.stringify(body) })
      return (await answer.json()) as Ledger
    },
    close: () => child.kill('SIGKILL'),
  }
}

interface Order {
  readonly id: number
  readonly session_id: number
  readonly status: 'pending' | 'paid' | 'refunding' | 'declined' | 'refunded'
}

interface Payment {
  readonly order_id: number
  readonly event: string
  readonly cents: number
  readonly settled: boolean
}

type Row = Readonly<Record<string, number>>

class Marketplace {
  readonly #cluster: NodeCluster
  readonly #key: string
  readonly #provider: Provider
  readonly #crashFile: string
  readonly #random = seeded(seed)
  /** The ids of the orders of acknowledged bookings. */
  readonly booked: number[] = []
  soldOut = 0
  crashes = 0

  constructor(cluster: NodeCluster, key: string, provider: Provider, crashFile: string) {
    this.#cluster = cluster
    this.#key = key
    this.#provider = provider
    this.#crashFile = crashFile
  }

  /** Sends the request until it is answered: each has its effect once. */
  async #send(path: string, body: object, key: string) {
    for (;;) {
      const answer = await call(`${this.#cluster.url}${path}`, {
        ...{ method: 'POST', key: this.#key, body },
        headers: { 'Idempotency-Key': key },
      }).catch(() => undefined)
      const isBusy = answer === undefined || answer.status === 502 || answer.status === 503
      const isConflict = answer?.status === 409 && !/`?free`?/.test(answer.text)
      if (!isBusy && !isConflict) return answer
      await sleep(30)
    }
  }

  async open(): Promise<void> {
    for (let n = 1; n <= sessions; n++) {
      const teacher = await this.#send('/api/v1/teachers', { name: `Teacher ${n}` }, `teacher-${n}`)
      const values = { teacher_id: teacher.json['id'], cents: 100 * n + 1, capacity, free: capacity }
      const session = await this.#send('/api/v1/sessions', values, `session-${n}`)
      assert.equal(session.status, 201, session.text)
    }
  }

  async #buy(first: number): Promise<void> {
    for (let n = first; n < bookings; n += buyers) {
      await sleep(2 * pauseMs * this.#random())
      const answer = await this.#send(`/api/v1/sessions/${(n % sessions) + 1}/book`, {}, `booking-${n}`)
      if (answer.status === 409) this.soldOut++
      else {
        assert.equal(answer.status, 200, answer.text)
        this.booked.push(Number(answer.json['id']))
      }
    }
  }

  /** Every fourth order is cancelled once it is paid. */
  async #cancel(): Promise<void> {
    for (const id of this.booked.filter(id => id % 4 === 0)) {
      let status = ''
      await until(async () => {
        status = String((await this.#get(`/api/v1/orders/${id}`))?.['status'])
        return status !== 'pending' && status !== 'undefined'
      }, `order ${id} is paid or declined`)
      if (status === 'declined') continue
      const answer = await this.#send(`/api/v1/orders/${id}/cancel`, {}, `cancellation-${id}`)
      assert.equal(answer.status, 200, answer.text)
    }
  }

  async #get(path: string): Promise<Readonly<Record<string, unknown>> | undefined> {
    const answer = await call(`${this.#cluster.url}${path}`, { key: this.#key }).catch(() => undefined)
    return answer?.status === 200 ? answer.json : undefined
  }

  async #all<T>(collection: string): Promise<readonly T[]> {
    const items: T[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await this.#get(`/api/v1/${collection}?per_page=100&sort=id&cursor=${cursor}`)
      assert.ok(page, collection)
      items.push(...(page['data'] as T[]))
      cursor = (page['meta'] as { next_cursor: string | null }).next_cursor
    }
    return items
  }

  /** Every other time at the end of a settlement's transaction, before its run has succeeded; else at a random moment. */
  async #killOne(count: number): Promise<void> {
    const { nodes } = this.#cluster
    await sleep(this.#random() * 300)
    if (count % 2 === 0) {
      writeFileSync(this.#crashFile, '')
      // At least one settlement is interrupted, however slow the machine is.
      const end = performance.now() + (this.crashes === 0 ? 120_000 : 2000)
      while (existsSync(this.#crashFile) && performance.now() < end) await sleep(5)
      const isTaken = !existsSync(this.#crashFile)
      rmSync(this.#crashFile, { force: true })
      if (isTaken) {
        await until(() => nodes.some(node => !node.isUp), 'the process has ended')
        this.crashes++
        return
      }
    }
    await this.#cluster.node(Math.floor(this.#random() * nodes.length)).kill()
  }

  async kill(): Promise<void> {
    for (let count = 0; count < kills; count++) {
      await this.#killOne(count)
      for (const node of this.#cluster.nodes) if (!node.isUp) await node.start()
    }
  }

  async sell(): Promise<void> {
    const shops = Array.from({ length: buyers }, (_, first) => this.#buy(first))
    await Promise.all([Promise.all(shops).then(() => this.#cancel()), this.kill()])
  }

  /** Runs that were in progress at three kills are dead letters: an operator retries them. */
  async #retryDead(): Promise<void> {
    const dead = await this.#get('/api/v1/events/runs?state=dead')
    const runs = ((dead?.['data'] ?? []) as readonly { readonly id: string }[]).map(({ id }) => id)
    if (runs.length > 0) await this.#send('/api/v1/events/runs/retry', { runs }, randomUUID())
  }

  async settle(): Promise<void> {
    await until(async () => {
      await this.#retryDead()
      const { undelivered, movements } = await this.#provider.ask('/ledger')
      const [orders, payments, receipts] = await Promise.all([
        ...[this.#all<Order>('orders'), this.#all<Payment>('payments'), this.#all<Row>('receipts')],
      ] as const)
      const withReceipt = new Set((receipts as readonly Row[]).map(({ order_id }) => order_id))
      return (
        undelivered === 0 &&
        payments.length === movements &&
        (payments as readonly Payment[]).every(({ settled }) => settled) &&
        (orders as readonly Order[]).every(
          ({ id, status }) =>
            !['pending', 'refunding'].includes(status) && (status !== 'paid' || withReceipt.has(id)),
        )
      )
    }, 'all is settled')
  }

  async check(): Promise<void> {
    const { cents: kept, movements } = await this.#provider.ask('/ledger')
    const orders = await this.#all<Order>('orders')
    const payments = await this.#all<Payment>('payments')
    const stored = await this.#all<Row>('sessions')
    // Each acknowledged booking has one order, and no order has none.
    assert.deepEqual(
      orders.map(({ id }) => id),
      this.booked.toSorted((a, b) => a - b),
    )
    assert.equal(this.booked.length + this.soldOut, bookings)
    assert.equal(new Set(payments.map(({ event }) => event)).size, movements)
    const paid = Object.fromEntries(orders.map(({ id }) => [id, 0]))
    for (const { order_id, cents } of payments) paid[order_id] = (paid[order_id] ?? 0) + cents
    assert.deepEqual(paid, kept)
    for (const { id, free } of stored) {
      const taken = orders.filter(({ session_id, status }) => session_id === id && status === 'paid')
      assert.equal(free, capacity - taken.length, `seats of session ${id}`)
    }
    const teachers = await this.#all<Row>('teachers')
    for (const { id, balance } of teachers) {
      const own = new Set(stored.filter(({ teacher_id }) => teacher_id === id).map(session => session['id']))
      const earned = orders.filter(({ session_id }) => own.has(session_id)).map(order => kept[order.id] ?? 0)
      assert.equal(
        balance,
        earned.reduce((sum, cents) => sum + cents, 0),
        `teacher ${id}`,
      )
    }
    const receipts = await this.#all<Row>('receipts')
    assert.equal(new Set(receipts.map(({ order_id }) => order_id)).size, receipts.length)
    // All of it has happened.
    assert.ok(this.crashes > 0, 'no settlement was interrupted')
    for (const status of ['paid', 'declined', 'refunded'])
      assert.ok(
        orders.some(order => order.status === status),
        status,
      )
  }
}

async function trade(database: string, nodes: number): Promise<void> {
  const provider = await startProvider()
  const crashFile = join(import.meta.dirname, `.crash-${process.pid}-${nodes}`)
  const key = generateKey()
  try {
    const cluster = await startCluster({
      nodes,
      model: join(import.meta.dirname, 'model.ts'),
      settings: { database, reactions: { allowPrivate: true } },
      environment: {
        ...{ PORTICO_ADMIN_API_KEY: key, PORTICO_SECRET_KEY: secretKey, PORTICO_RATE_LIMIT: 'off' },
        ...{ MARKETPLACE_PROVIDER: provider.url, MARKETPLACE_CRASH: crashFile },
      },
    })
    try {
      await provider.ask('/target', { url: `${cluster.url}/hooks/payments` })
      const marketplace = new Marketplace(cluster, key, provider, crashFile)
      await marketplace.open()
      await marketplace.sell()
      await marketplace.settle()
      await marketplace.check()
    } finally {
      await cluster.close()
    }
  } finally {
    provider.close()
    rmSync(crashFile, { force: true })
  }
}

test('on SQLite, the money and the seats of a marketplace equal the ledger of the provider, whenever it is killed', async () => {
  const deployment = await sqlite.open()
  try {
    await trade(deployment.database, 1)
  } finally {
    await deployment.close()
  }
})

test('on three nodes with PostgreSQL, the money and the seats of a marketplace equal the ledger of the provider, whichever is killed', () =>
  withPostgres(url => trade(url, 3)))
