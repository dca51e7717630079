/** The load shedder without connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn, setTimeout as wait } from 'node:timers/promises'
import { LoadShedder } from '../../../src/server/http/load-shedder.ts'
import { workFor } from './busy-loop.ts'

class Request {
  readonly start = performance.now()
  readonly isGone = false
  hasEnded = false
  readonly hasBody: boolean

  constructor(hasBody = false) {
    this.hasBody = hasBody
  }
}

/** Adds more requests than one turn can process. */
function addMany(shedder: LoadShedder<Request>): void {
  for (let each = 0; each < 2000; each++) shedder.submit(new Request())
}

test('cheaper requests lengthen the queue, even if it is empty after each turn', async () => {
  let cost = 5
  const shedder: LoadShedder<Request> = new LoadShedder({
    maxDelayMs: 200,
    run: () => workFor(cost),
    refuse: () => workFor(0.005),
  })
  while (!shedder.isOverloaded) {
    addMany(shedder)
    await nextTurn()
  }
  // How many are queued when the overload is noticed depends on the machine: those are processed first.
  for (let turn = 0; turn < 20 || (turn < 1000 && shedder.length >= 100); turn++) {
    addMany(shedder)
    await nextTurn()
  }
  assert.ok(shedder.length < 100, `${shedder.length} are queued at 5 ms each`)
  cost = 0.01
  let longest = 0
  for (let turn = 0; turn < 500 && longest < 800; turn++) {
    addMany(shedder)
    longest = Math.max(longest, shedder.length)
    await nextTurn()
  }
  assert.ok(longest >= 800, `at most ${longest} were queued at 0.01 ms each`)
})

test('a request whose body has arrived is served in the turn in which it leaves the queue', async () => {
  const shedder: LoadShedder<Request> = new LoadShedder({
    maxDelayMs: 60_000,
    run: () => void work(),
    refuse: () => assert.fail('refused'),
  })
  let completed = 0
  const work = async () => {
    await Promise.resolve()
    await shedder.bodyArrived()
    completed++
  }
  // The first one takes the whole turn.
  shedder.submit(new Request())
  workFor(30)
  for (let each = 0; each < 50; each++) shedder.submit(new Request(true))
  await nextTurn()
  assert.ok(completed >= 2, `${completed} were served in the turn`)
  for (let turn = 0; turn < 1000 && completed < 51; turn++) await nextTurn()
  assert.equal(completed, 51)
})

test('refusals are sent before other requests are served', async () => {
  const order: string[] = []
  const shedder: LoadShedder<Request> = new LoadShedder({
    maxDelayMs: 100,
    run() {
      workFor(5)
      order.push('worked')
    },
    refuse: () => order.push('refused'),
    beforeSlice: () => order.push('notified'),
  })
  while (!shedder.isOverloaded) {
    addMany(shedder)
    await nextTurn()
  }
  addMany(shedder)
  order.length = 0
  shedder.submit(new Request())
  await nextTurn()
  assert.deepEqual(order.slice(0, 3), ['refused', 'notified', 'worked'])
})

test('a half-closed client is served in order, but refused under overload', async () => {
  const ran: string[] = []
  const refused: string[] = []
  class Named extends Request {
    readonly name: string

    constructor(name: string, hasEnded: boolean) {
      super()
      this.name = name
      this.hasEnded = hasEnded
    }
  }
  const shedder: LoadShedder<Named> = new LoadShedder({
    maxDelayMs: 50,
    run: ({ name }) => {
      ran.push(name)
      workFor(2)
    },
    refuse: ({ name }) => void refused.push(name),
  })
  const early = Array.from({ length: 10 }, (_, nth) => `early ${nth}`)
  for (const [nth, name] of early.entries()) shedder.submit(new Named(name, nth > 0))
  while (shedder.length > 0) await nextTurn()
  assert.deepEqual(ran, early)
  while (!shedder.isOverloaded) {
    for (let nth = 0; nth < 100; nth++) shedder.submit(new Named('other', false))
    await nextTurn()
  }
  while (shedder.length > 0) await nextTurn()
  refused.length = 0
  // The first is served immediately, so that the next ones are queued.
  for (let nth = 0; nth < 8; nth++) shedder.submit(new Named(nth < 6 ? 'other' : 'ended', nth >= 6))
  while (shedder.length > 0) await nextTurn()
  assert.deepEqual(
    refused.filter(name => name === 'ended'),
    ['ended', 'ended'],
  )
  assert.ok(!ran.includes('ended'))
})

test('an overload is over soon after the last refusal, even if no further request comes', async () => {
  const changes: boolean[] = []
  const shedder: LoadShedder<Request> = new LoadShedder({
    maxDelayMs: 50,
    run: () => workFor(1),
    refuse: () => {},
    onChange: isOverloaded => void changes.push(isOverloaded),
  })
  while (!shedder.isOverloaded) {
    addMany(shedder)
    await nextTurn()
  }
  while (shedder.length > 0) await nextTurn()
  await wait(2500)
  assert.equal(shedder.isOverloaded, false)
  assert.deepEqual(changes, [true, false])
})

test('an overload lasts for two seconds after the last refusal, not after the first', async t => {
  const shedder: LoadShedder<Request> = new LoadShedder({
    maxDelayMs: 50,
    run: () => workFor(1),
    refuse: () => {},
  })
  t.mock.timers.enable({ apis: ['setTimeout'] })
  while (!shedder.isOverloaded) {
    addMany(shedder)
    await nextTurn()
  }
  // Two seconds after the first refusal the timer fires. On the clock, the last refusal was just now.
  addMany(shedder)
  t.mock.timers.tick(2000)
  assert.equal(shedder.isOverloaded, true)
  while (shedder.length > 0) await nextTurn()
})
