/** The line by itself, without connections. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Line } from '../../src/http/overload.ts'

class Asked {
  readonly start = performance.now()
  readonly isGone = false
  hasEnded = false
  hasWaited = false
  readonly hasBody: boolean

  constructor(hasBody = false) {
    this.hasBody = hasBody
  }
}

function workFor(milliseconds: number): void {
  const end = performance.now() + milliseconds
  while (performance.now() < end);
}

/** Requests of one turn, more than can be worked on. */
function manyCome(line: Line<Asked>): void {
  for (let each = 0; each < 2000; each++) line.take(new Asked())
}

test('when requests have become cheap, more of them may wait, though the line is empty after each turn', async () => {
  let cost = 5
  const line: Line<Asked> = new Line({
    delay: 200,
    run: () => workFor(cost),
    refuse: () => workFor(0.005),
  })
  while (!line.isRefusing) {
    manyCome(line)
    await nextTurn()
  }
  for (let turn = 0; turn < 20; turn++) {
    manyCome(line)
    await nextTurn()
  }
  assert.ok(line.length < 100, `${line.length} wait for 5 ms each`)
  cost = 0.01
  let longest = 0
  for (let turn = 0; turn < 500 && longest < 800; turn++) {
    manyCome(line)
    longest = Math.max(longest, line.length)
    await nextTurn()
  }
  assert.ok(longest >= 800, `at most ${longest} waited for 0.01 ms each`)
})

test('a request whose body is there is worked on in the turn in which it leaves the line', async () => {
  const line: Line<Asked> = new Line({
    delay: 60_000,
    run: request => void work(request),
    refuse: () => assert.fail('refused'),
  })
  let done = 0
  const work = async (request: Asked) => {
    await Promise.resolve()
    await line.turn(request)
    done++
  }
  // The first one takes the whole of the turn.
  line.take(new Asked())
  workFor(30)
  for (let each = 0; each < 50; each++) line.take(new Asked(true))
  await nextTurn()
  assert.ok(done >= 2, `${done} were done in the turn`)
  for (let turn = 0; turn < 1000 && done < 51; turn++) await nextTurn()
  assert.equal(done, 51)
})

test('those who are refused hear so before others are worked on', async () => {
  const order: string[] = []
  const line: Line<Asked> = new Line({
    delay: 100,
    run() {
      workFor(5)
      order.push('worked')
    },
    refuse: () => order.push('refused'),
    beforeWork: () => order.push('told'),
  })
  while (!line.isRefusing) {
    manyCome(line)
    await nextTurn()
  }
  manyCome(line)
  order.length = 0
  line.take(new Asked())
  await nextTurn()
  assert.deepEqual(order.slice(0, 3), ['refused', 'told', 'worked'])
})

test('who has ended its side is worked on in its turn, but refused while there is no time for all', async () => {
  const ran: string[] = []
  const refused: string[] = []
  class Named extends Asked {
    readonly name: string

    constructor(name: string, hasEnded: boolean) {
      super()
      this.name = name
      this.hasEnded = hasEnded
    }
  }
  const line: Line<Named> = new Line({
    delay: 50,
    run: ({ name }) => {
      ran.push(name)
      workFor(2)
    },
    refuse: ({ name }) => void refused.push(name),
  })
  for (let nth = 0; nth < 10; nth++) line.take(new Named('early', nth > 0))
  while (line.length > 0) await nextTurn()
  assert.equal(ran.length, 10)
  while (!line.isRefusing) {
    for (let nth = 0; nth < 100; nth++) line.take(new Named('other', false))
    await nextTurn()
  }
  while (line.length > 0) await nextTurn()
  refused.length = 0
  // The first has time at once, so that the next ones wait.
  for (let nth = 0; nth < 8; nth++) line.take(new Named(nth < 6 ? 'other' : 'ended', nth >= 6))
  while (line.length > 0) await nextTurn()
  assert.deepEqual(
    refused.filter(name => name === 'ended'),
    ['ended', 'ended'],
  )
  assert.ok(!ran.includes('ended'))
})
