/** Two nodes on PostgreSQL: a write at either is sent to the webhook. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { call } from '../../server/serve/service.ts'
import { withPostgres } from '../../setups/databases/postgres.ts'
import { check, titlesOf, until, within } from '../nodes/webhooks.ts'

test('a webhook gets the events of two nodes, signed and once', () =>
  withPostgres(url =>
    within(url, 2, async ({ cluster, key, receiver, secret }) => {
      for (const [node, title] of ['first', 'second'].entries()) {
        const body = { title, body: 'x' }
        const answer = await call(`${cluster.node(node).url}/api/v1/posts`, { method: 'POST', key, body })
        assert.equal(answer.status, 201, answer.text)
      }
      await until(() => titlesOf(receiver).size === 2, 'both events are sent')
      assert.equal(receiver.received.length, 2)
      check(receiver, secret)
    }),
  ))
