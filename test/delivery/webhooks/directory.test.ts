/** How the sender reacts when the rows of webhooks change. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Webhook } from '../../../src/delivery/webhooks/delivery.ts'
import { WebhookDirectory } from '../../../src/delivery/webhooks/directory.ts'

function webhook(id: number, change: Partial<Webhook> = {}): Webhook {
  return {
    id,
    userId: 1,
    appId: null,
    url: 'https://one.example/hook',
    types: ['*'],
    collections: null,
    scopes: null,
    grant: null,
    isEnabled: true,
    isLive: true,
    position: null,
    failingSince: null,
    ...change,
  }
}

const paused = { isLive: false }
const moved = { url: 'https://two.example/hook' }

for (const [name, before, after, started, stopped] of [
  ['a new webhook starts', undefined, webhook(1), [1], []],
  ['an unchanged webhook neither starts nor stops', webhook(1), webhook(1), [], []],
  ['a webhook that is paused stops', webhook(1), webhook(1, paused), [], [1]],
  ['a webhook that is enabled starts', webhook(1, paused), webhook(1), [1], []],
  ['a webhook that stays paused keeps its pending test', webhook(1, paused), webhook(1, paused), [], []],
  ['a webhook whose URL changes stops and starts', webhook(1), webhook(1, moved), [1], [1]],
  ['a webhook that is deleted stops', webhook(1), undefined, [], [1]],
  [
    'a webhook that is deleted while paused stops: a test may be pending',
    webhook(1, paused),
    undefined,
    [],
    [1],
  ],
] as const) {
  test(name, () => {
    const directory = new WebhookDirectory(() => [])
    directory.replace(before ? [before] : [])
    const changes = directory.replace(after ? [after] : [])
    assert.deepEqual([changes.started.map(({ id }) => id), changes.stopped], [started, stopped])
  })
}
