/** Server-sent events as read by a client. */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { EventStream } from '../../../src/api/events/event-stream.ts'

const block = (data: string) => `data: ${data}\n\n`

test('a reader gets the buffered events in one chunk, then each event as it occurs', async () => {
  const events = new EventStream(1000, () => assert.fail())
  events.send(block('1'))
  events.send(block('2'))
  assert.deepEqual(await events.next(), { value: `\n${block('1')}${block('2')}`, done: false })
  const waiting = events.next()
  events.send(block('3'))
  assert.deepEqual(await waiting, { value: block('3'), done: false })
  events.end(block('last'))
  events.send(block('4'))
  assert.deepEqual(await events.next(), { value: block('last'), done: false })
  assert.deepEqual(await events.next(), { value: undefined, done: true })
})

test('a stream buffers no more than its limit', async () => {
  const ends: boolean[] = []
  const events = new EventStream(100, tooSlow => ends.push(tooSlow))
  for (let count = 0; count < 50; count++) events.send(block('x'.repeat(20)))
  assert.deepEqual(ends, [true])
  assert.deepEqual(await events.next(), { value: undefined, done: true })
})

test('a client that leaves is reported once', async () => {
  const ends: boolean[] = []
  const events = new EventStream(100, tooSlow => ends.push(tooSlow))
  await events.next()
  const waiting = events.next()
  await events.return()
  await events.return()
  assert.deepEqual(await waiting, { value: undefined, done: true })
  assert.deepEqual(ends, [false])
})

test('an idle stream sends keep-alive comments and the text of its transport', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  try {
    const ids = [7, 8]
    const plain = new EventStream(100, () => assert.fail())
    const events = new EventStream(
      100,
      () => assert.fail(),
      () => `:\nid: ${ids.shift()}\n\n`,
    )
    await Promise.all([plain.next(), events.next()])
    const next = [plain.next(), events.next()]
    mock.timers.tick(15_000)
    assert.deepEqual(await next[0], { value: ':\n\n', done: false })
    assert.deepEqual(await next[1], { value: ':\nid: 7\n\n', done: false })
    plain.end('')
    events.end('')
  } finally {
    mock.timers.reset()
  }
})
