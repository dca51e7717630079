/**
 * Nodes are killed with SIGKILL at random moments while clients run an action with `Idempotency-Key`s: each acknowledged
 * key has exactly one effect, each unanswered one at most one, and no action is stored partially.
 * `PORTICO_ACTION_KILLS`: the number of kills for each database, 4 by default.
 */
import assert from 'node:assert/strict'
import { randomInt, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { generateKey } from '../../../../src/identity/keys/key.ts'
import { type Event, fetchEvents } from '../../../api/events/listener.ts'
import { call } from '../../../server/serve/service.ts'
import { nodeSetups } from '../../../setups/setups.ts'
import { type NodeCluster, startCluster } from '../../../system/nodes/cluster.ts'
import { firstBalance } from './transfers-model.ts'

const kills = Number(process.env['PORTICO_ACTION_KILLS'] ?? 4)
const accounts = 8
const clients = 16

/** `unknown`: sent once and not answered, so that it may have had its effect or not. */
type Outcome = 'done' | 'refused' | 'unknown'

interface Transfer {
  readonly mark: string
  readonly fails: boolean
}

class Clients {
  readonly #cluster: NodeCluster
  readonly #key: string
  readonly outcomes = new Map<string, Outcome>()
  replays = 0
  retries = 0
  isOver = false

  constructor(cluster: NodeCluster, key: string) {
    this.#cluster = cluster
    this.#key = key
  }

  async run(): Promise<void> {
    while (!this.isOver) {
      const transfer = { mark: randomUUID(), fails: randomInt(10) === 0 }
      const isPatient = randomInt(10) !== 0
      const sends = isPatient ? randomInt(1, 4) : 1
      const all = Array.from({ length: sends }, () => this.#sendAll(transfer, isPatient))
      const outcomes = new Set(await Promise.all(all))
      assert.equal(outcomes.size, 1, `${transfer.mark}: ${[...outcomes]}`)
      for (const outcome of outcomes) this.outcomes.set(transfer.mark, outcome)
    }
  }

  /** Sends the transfer until it is answered; if not patient, once. */
  async #sendAll(transfer: Transfer, isPatient: boolean): Promise<Outcome> {
    const from = randomOf(transfer.mark, 0)
    const body = { from, to: (from % accounts) + 1, amount: 1 + randomOf(transfer.mark, 9), ...transfer }
    for (;;) {
      const answer = await call(`${this.#cluster.node(randomInt(1000)).url}/api/v1/accounts/transfer`, {
        method: 'POST',
        key: this.#key,
        headers: { 'Idempotency-Key': transfer.mark },
        body,
      }).catch(() => undefined)
      if (answer?.headers.has('Idempotent-Replayed')) this.replays++
      if (answer?.status === 200) return 'done'
      if (answer?.status === 500 && transfer.fails) return 'refused'
      const status = answer?.status ?? 503
      assert.ok(status === 409 || status === 503, `${status} ${answer?.text}`)
      if (!isPatient) return 'unknown'
      this.retries++
      await wait(30)
    }
  }
}

/** A number from 1 to 8, the same for every request with the key. */
function randomOf(mark: string, position: number): number {
  return (Number.parseInt(mark[position] ?? '0', 16) % accounts) + 1
}

async function all<T>(url: string, key: string, collection: string): Promise<readonly T[]> {
  const items: T[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { json } = await call(`${url}/api/v1/${collection}?per_page=100&cursor=${cursor}`, { key })
    items.push(...(json['data'] as T[]))
    cursor = (json['meta'] as { next_cursor: string | null }).next_cursor
  }
  return items
}

interface Account {
  readonly id: number
  readonly balance: number
  readonly moves: number
}

interface Entry {
  readonly mark: string
  readonly amount: number
  readonly from_id: number
  readonly to_id: number
}

function checkEffects(entries: readonly Entry[], outcomes: ReadonlyMap<string, Outcome>): void {
  const effects = new Map<string, number>()
  for (const { mark } of entries) effects.set(mark, (effects.get(mark) ?? 0) + 1)
  for (const [mark, outcome] of outcomes) {
    const count = effects.get(mark) ?? 0
    if (outcome === 'done') assert.equal(count, 1, `${mark} was done ${count} times`)
    if (outcome === 'refused') assert.equal(count, 0, `${mark} was refused but had an effect`)
    assert.ok(count <= 1, `${mark} was done ${count} times`)
    effects.delete(mark)
  }
  assert.deepEqual([...effects], [], 'effects without a request')
}

function checkSums(entries: readonly Entry[], storedAccounts: readonly Account[]): void {
  const total = storedAccounts.reduce((sum, { balance }) => sum + balance, 0)
  assert.equal(total, accounts * firstBalance)
  for (const { id, balance, moves } of storedAccounts) {
    const outgoing = entries.filter(entry => entry.from_id === id)
    const incoming = entries.filter(entry => entry.to_id === id)
    const sum = (group: readonly Entry[]) => group.reduce((sum, { amount }) => sum + amount, 0)
    assert.equal(balance, firstBalance - sum(outgoing) + sum(incoming), `account ${id}`)
    assert.equal(moves, outgoing.length + incoming.length, `account ${id}`)
  }
}

/** Requires that the four events of each action are adjacent. */
function checkEvents(entries: readonly Entry[], events: readonly Event[]): void {
  const expectedMarks = new Set(entries.map(({ mark }) => mark))
  for (let index = 0; index < events.length; index += 4) {
    const four = events.slice(index, index + 4)
    assert.deepEqual(
      four.map(({ type }) => type),
      ['account.updated', 'account.updated', 'entry.created', 'account.moved'],
    )
    const mark = String(four[2]?.data?.['mark'])
    const moved: (Event & { readonly values?: { readonly mark?: string } }) | undefined = four[3]
    assert.equal(moved?.values?.mark, mark)
    assert.ok(expectedMarks.delete(mark), `${mark} has events without an entry, or twice`)
  }
  assert.deepEqual([...expectedMarks], [], 'entries without events')
}

for (const setup of nodeSetups) {
  test(`${kills} kills of nodes that run actions leave one effect for each key, on ${setup.name}`, async context => {
    const deployment = await setup.open()
    await deployment.create()
    let load: Clients | undefined
    const key = generateKey()
    const cluster = await startCluster({
      model: join(import.meta.dirname, 'transfers-model.ts'),
      nodes: 2,
      settings: { rateLimit: 'off', ...deployment.settings },
      environment: { PORTICO_ADMIN_API_KEY: key },
    })
    try {
      const { url } = cluster.node(0)
      for (let n = 1; n <= accounts; n++) {
        const answer = await call(`${url}/api/v1/accounts`, { method: 'POST', key, body: { name: `a${n}` } })
        assert.equal(answer.json['id'], n, answer.text)
      }
      const start = (await fetchEvents(url, '', key)).at(-1)?.id ?? '0'
      const sending = new Clients(cluster, key)
      load = sending
      const running = Promise.all(Array.from({ length: clients }, () => sending.run()))
      for (let killed = 0; killed < kills; killed++) {
        await Promise.race([wait(randomInt(20, 400)), running])
        const node = cluster.node(killed)
        await node.kill()
        await node.start()
      }
      sending.isOver = true
      await running
      const entries = await all<Entry>(url, key, 'entries')
      checkEffects(entries, sending.outcomes)
      checkSums(entries, await all<Account>(url, key, 'accounts'))
      const events = await fetchEvents(url, 'collections=accounts,entries', key, start)
      checkEvents(entries, events)
      const count = (outcome: Outcome) =>
        [...sending.outcomes.values()].filter(other => other === outcome).length
      assert.ok(count('done') > 0 && count('refused') > 0)
      context.diagnostic(
        `${kills} kills: ${count('done')} done, ${count('refused')} refused, ${count('unknown')} sent once and not answered; ` +
          `${entries.length} entries, ${sending.replays} replays, ${sending.retries} retries`,
      )
    } finally {
      if (load) load.isOver = true
      await cluster.close()
      await deployment.close()
    }
  })
}
