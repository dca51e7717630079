import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventBursts } from '../../../src/tools/dev/event-bursts.ts'

interface Shown {
  readonly lines: (number | string)[]
  readonly bursts: EventBursts<{ event: number; type: string }>
}

function recorded(): Shown {
  const lines: (number | string)[] = []
  const bursts = new EventBursts<{ event: number; type: string }>({
    one: ({ event }) => lines.push(event),
    folded: ({ count, types, first, last }) =>
      lines.push(`${count} ${JSON.stringify(types)} ${first} to ${last}`),
  })
  return { lines, bursts }
}

const tenNumbers = Array.from({ length: 10 }, (_, index) => index + 1)

test('single events have a line each, those of a burst are counted', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { lines, bursts } = recorded()
  for (const event of tenNumbers) bursts.add({ event, type: 'post.created' })
  t.mock.timers.tick(2000)
  assert.deepEqual(lines, tenNumbers)
  bursts.add({ event: 11, type: 'post.created' })
  assert.deepEqual(lines.at(-1), 11)

  t.mock.timers.tick(2000)
  lines.length = 0
  for (let event = 12; event < 5012; event++)
    bursts.add({ event, type: event % 2 === 0 ? 'post.created' : 'tag.created' })
  assert.equal(lines.length, 10)
  t.mock.timers.tick(2000)
  assert.deepEqual(lines.slice(10), ['4990 {"post.created":2495,"tag.created":2495} 22 to 5011'])
})

test('an import of 150,000 items in a minute has a line every two seconds, and then events have lines again', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { lines, bursts } = recorded()
  let event = 0
  for (let second = 0; second < 60; second++) {
    for (let count = 0; count < 2500; count++) bursts.add({ event: ++event, type: 'post.created' })
    t.mock.timers.tick(1000)
  }
  t.mock.timers.tick(2000)
  assert.ok(lines.length <= 10 + 31, `${lines.length} lines`)
  const counted = lines.map(line => (typeof line === 'number' ? 1 : Number.parseInt(line, 10)))
  assert.equal(
    counted.reduce((sum, count) => sum + count, 0),
    150_000,
  )
  t.mock.timers.tick(2000)
  bursts.add({ event: ++event, type: 'post.updated' })
  assert.equal(lines.at(-1), 150_001)
})

test('what was counted is shown when the service stops', t => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { lines, bursts } = recorded()
  for (let event = 1; event <= 15; event++) bursts.add({ event, type: 'post.created' })
  bursts.flush()
  assert.equal(lines.at(-1), '5 {"post.created":5} 11 to 15')
  bursts.flush()
  assert.equal(lines.length, 11)
})
