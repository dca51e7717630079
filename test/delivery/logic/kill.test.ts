/**
 * Nodes are killed at any point of reactions and jobs: every event is handled at least once and in the order of its item,
 * every enqueued job is started, and no due time is started twice without a kill. A run during which three of them were killed
 * is a dead letter. `PORTICO_KILLS`: the number of kills for each database, 5 by default.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { recordsOf } from '../../../src/base/records.ts'
import { registerRuns } from '../../../src/delivery/runs/runner.ts'
import { deadKind, runOf } from '../../../src/engine/logic/run.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { Client } from '../../engine/store/blog.ts'
import { plainDatabaseKinds, type TestDatabase } from '../../engine/store/databases.ts'
import { killedModel } from './killed-node.ts'

const kills = Number(process.env['PORTICO_KILLS'] ?? 5)
const deadlineMs = 120_000 + kills * 10_000

interface Lines {
  /** The events by item, in the order in which they were handled. */
  readonly events: ReadonlyMap<number, readonly number[]>
  readonly echoes: ReadonlySet<number>
  readonly ticks: readonly string[]
}

function linesOf(file: string): Lines {
  const events = new Map<number, number[]>()
  const echoes = new Set<number>()
  const ticks: string[] = []
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const [kind, first = '', item = ''] = line.split(' ')
    if (kind === 'event') {
      const ofItem = events.get(Number(item)) ?? []
      events.set(Number(item), [...ofItem, Number(first)])
    }
    if (kind === 'echo') echoes.add(Number(first))
    if (kind === 'tick') ticks.push(first)
  }
  return { events, echoes, ticks }
}

/** Requires that each event is handled only after all earlier ones of its item, possibly repeatedly. */
function requireOrder(item: number, handled: readonly number[], logged: readonly number[]): void {
  let reached = 0
  for (const event of handled) {
    const index = logged.indexOf(event)
    assert.ok(index !== -1, `event ${event} of item ${item} is not in the log`)
    assert.ok(index <= reached, `event ${event} of item ${item} came before ${logged[reached]}`)
    if (index === reached) reached++
  }
  assert.equal(reached, logged.length, `item ${item} lacks event ${logged[reached]}`)
}

/** The events whose reaction, or whose job, was given up, which only the ends of processes may cause. */
async function givenUp(store: Store) {
  const events = new Set<number>()
  const echoes = new Set<number>()
  for await (const record of recordsOf(store.records, deadKind)) {
    const run = runOf(record)
    assert.match(run.error ?? '', /it did 3 times/)
    if (run.kind === 'reaction') events.add(run.event)
    else echoes.add(Number(run.input['event']))
  }
  return { events, echoes }
}

async function run(database: TestDatabase, folder: string, started: ChildProcess[]): Promise<void> {
  const file = join(folder, 'lines')
  writeFileSync(file, '')
  const model = killedModel(() => undefined, 0)
  const store = await database.open(model)
  const base = Date.now()
  await registerRuns(model, { records: store.records, log: store.changes, now: base })
  const client = new Client(store, model)
  const logged = new Map<number, number[]>()
  let isWriting = true
  const writer = (async () => {
    const items: number[] = []
    for (let n = 0; isWriting; n++) {
      if (items.length < 20) items.push((await client.create('tasks', { title: `task ${n}` })).id)
      else await client.update('tasks', items[n % items.length] ?? 0, { n })
      await sleep(10)
    }
  })()
  const start = (chance: number) => {
    const parameters = [
      join(import.meta.dirname, 'killed-node.ts'),
      database.url,
      file,
      String(base),
      String(chance),
    ]
    const node = spawn(process.execPath, ['--conditions=portico-source', ...parameters], {
      stdio: ['ignore', 'ignore', 'inherit'],
    })
    started.push(node)
    return node
  }
  const nodes: ChildProcess[] = [start(0.002), start(0.002)]
  let deaths = 0
  const deadline = performance.now() + deadlineMs
  for (let killed = 0; killed < kills; killed++) {
    const before = linesOf(file)
    // The next node is killed once something was handled since the previous kill.
    while (handledIn(linesOf(file)) === handledIn(before)) {
      assert.ok(performance.now() < deadline, `nothing was handled after ${killed} kills`)
      await sleep(20)
      for (const [index, node] of nodes.entries()) {
        if (!hasEnded(node)) continue
        deaths++
        nodes[index] = start(0.002)
      }
    }
    await sleep(Math.random() * 200)
    const chosenIndex = killed % nodes.length
    const node = nodes[chosenIndex]
    if (node === undefined || hasEnded(node)) continue
    node.kill('SIGKILL')
    await once(node, 'close')
    deaths++
    nodes[chosenIndex] = start(0.002)
  }
  isWriting = false
  await writer
  for (const node of nodes) node.kill('SIGKILL')
  deaths += nodes.length
  const last = start(0)
  for (let after = 0; ; ) {
    const changes = await store.changes.after(after, 1000)
    for (const { event, id } of changes) logged.set(id, [...(logged.get(id) ?? []), event])
    after = changes.at(-1)?.event ?? after
    if (changes.length === 0) break
  }
  const all = [...logged.values()].flat()
  const missing = async () => {
    const { events, echoes } = linesOf(file)
    const dead = await givenUp(store)
    const handled = new Set([...[...events.values()].flat(), ...dead.events])
    const echoed = new Set([...echoes, ...dead.echoes, ...dead.events])
    return all.filter(event => !handled.has(event) || !echoed.has(event))
  }
  for (let left = await missing(); left.length > 0; left = await missing()) {
    assert.ok(
      performance.now() < deadline,
      `not handled: ${left.join(', ')}, after ${deaths} ends of processes`,
    )
    assert.ok(!hasEnded(last), 'the last node has ended')
    await sleep(100)
  }
  last.kill('SIGTERM')
  await once(last, 'close')
  const { events, ticks } = linesOf(file)
  const dead = (await givenUp(store)).events
  const withoutDead = (list: readonly number[] = []) => list.filter(event => !dead.has(event))
  for (const [item, ofItem] of logged) requireOrder(item, withoutDead(events.get(item)), withoutDead(ofItem))
  assert.ok(dead.size * 3 <= deaths, `${dead.size} runs were given up after ${deaths} ends of processes`)
  const twice = ticks.length - new Set(ticks).size
  assert.ok(twice <= deaths, `${twice} of ${ticks.length} due times were started twice`)
  assert.deepEqual([...new Set(ticks)].toSorted(), [...new Set(ticks)], 'due times are in order')
  await store.close()
}

const handledIn = ({ events, ticks }: Lines) =>
  [...events.values()].reduce((sum, { length }) => sum + length, ticks.length)

const hasEnded = ({ exitCode, signalCode }: ChildProcess) => exitCode !== null || signalCode !== null

for (const databaseKind of plainDatabaseKinds) {
  describe(`reactions and jobs under kill -9 on ${databaseKind.name}`, () => {
    it(`${kills} kills lose no event, job or due time`, { timeout: deadlineMs + 60_000 }, () =>
      databaseKind.within(async database => {
        const folder = mkdtempSync(join(tmpdir(), 'portico-kill-'))
        const started: ChildProcess[] = []
        try {
          await run(database, folder, started)
        } finally {
          // After a failure too, since a remaining node would keep the test from ending.
          for (const node of started) node.kill('SIGKILL')
          rmSync(folder, { recursive: true })
        }
      }),
    )
  })
}
