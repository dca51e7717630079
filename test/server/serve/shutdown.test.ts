/** The shutdown of a service of which a part cannot be closed. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RunningParts, shutdown } from '../../../src/server/serve/shutdown.ts'

const order = [
  'http',
  'webhooks',
  'reactions',
  'deletions',
  'routes',
  'files',
  'oauth',
  'slow',
  'last uses',
  'cluster',
  'store',
  'traces',
  'log',
]

/** A service whose parts record their closing; `stuck` rejects. */
function running(closed: string[], stuck: string): RunningParts {
  const end = (name: string) => async () => {
    closed.push(name)
    if (name === stuck) throw new Error(`${name} is stuck`)
  }
  const parts = {
    http: { close: end('http'), drain: () => undefined },
    webhooks: { close: end('webhooks') },
    reactions: { close: end('reactions') },
    deletions: { close: end('deletions') },
    routes: { close: end('routes') },
    files: { close: end('files') },
    oauth: { idle: end('oauth') },
    slowLists: { close: end('slow') },
    lastUses: { settled: end('last uses') },
    cluster: { close: end('cluster') },
    store: { close: end('store') },
    traces: { close: end('traces') },
    log: { flush: end('log') },
  }
  const rest = { endStreams: () => undefined, state: { starting: false, closing: false }, delaySeconds: 0 }
  return { ...parts, ...rest } as unknown as RunningParts
}

for (const stuck of order) {
  test(`every other part is closed when ${stuck} rejects`, async () => {
    const closed: string[] = []
    const close = shutdown(running(closed, stuck))
    await assert.rejects(Promise.all([close(), close()]), { message: `${stuck} is stuck` })
    assert.deepEqual(closed, order)
  })
}
