/** The position of a stream whose events are all hidden. */
import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { createEvents } from '../../../src/api/events/events.ts'
import { streamEvents } from '../../../src/api/rest/events/stream.ts'
import { anonymous } from '../../../src/base/principal.ts'
import { stubFeed, stubRequest } from './stub.ts'

test('a stream without visible events sends its position, so that it does not fall behind retention', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const feed = stubFeed()
  const identify = () => assert.fail()
  const events = createEvents({
    feed,
    identify,
    onFault: () => assert.fail(),
    maxAnonymousConnections: 1,
    maxConnections: 1,
    maxDistinctSubscriptions: 1,
  })
  const client = { credential: undefined, address: '192.0.2.1', onGone: () => () => {} }
  const parts = { events, feed, clientOf: () => client, maxAnswerBytes: 65_536, maxBufferedBytes: 1000 }
  const rendered: number[] = []
  const request = stubRequest(({ event }) => {
    rendered.push(event)
    return null
  })
  try {
    const listening = { request, principal: anonymous('192.0.2.1'), client, after: undefined }
    const { body } = await streamEvents(parts, listening)
    const stream = (body as AsyncIterable<string>)[Symbol.asyncIterator]()
    assert.deepEqual((await stream.next()).value, '\n:\n\n')
    feed.commit({}, {}, { collection: 'others' })
    while (rendered.length < 2) await new Promise(setImmediate)
    await new Promise(setImmediate)
    const next = stream.next()
    mock.timers.tick(15_000)
    assert.equal((await next).value, ':\nid: 3\n\n')
    const after = stream.next()
    mock.timers.tick(15_000)
    assert.equal((await after).value, ':\n\n')
    await stream.return?.()
    assert.equal(events.hub.size, 0)
    events.connectionQuota.take(anonymous('192.0.2.1'))()
  } finally {
    events.hub.close()
    mock.timers.reset()
  }
})
