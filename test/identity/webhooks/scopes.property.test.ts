/** A webhook gets no event that its credential may not read: compared with a reference of three lines. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { type Principal, type Scopes, user } from '../../../src/base/principal.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import { updateShape } from '../../../src/engine/plan/system-plans.ts'
import { EventTypes } from '../../../src/identity/webhooks/event-types.ts'
import {
  newWebhookHook,
  type WebhookRuleParts,
  webhookRule,
} from '../../../src/identity/webhooks/write-rules.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import blog from '../../models/blog.ts'

const model = checkModel(blog)
const singulars = new Map([
  ['users', 'user'],
  ['posts', 'post'],
  ['webhooks', 'webhook'],
])
const kinds = ['created', 'updated', 'deleted', '*']
const types = ['*', ...[...singulars.values()].flatMap(one => kinds.map(kind => `${one}.${kind}`))]

const someScopes = fc.oneof(
  fc.constant<Scopes>('all'),
  fc
    .uniqueArray(fc.constantFrom(...[...singulars.values()].flatMap(one => [`read:${one}`, `write:${one}`])))
    .map((scopes): Scopes => new Set(scopes)),
)
const someEvents = fc.record({
  types: fc.uniqueArray(fc.constantFrom(...types), { minLength: 1, maxLength: 4 }),
  collections: fc.option(fc.uniqueArray(fc.constantFrom(...singulars.keys()), { minLength: 1 })),
})

type Events = typeof someEvents extends fc.Arbitrary<infer E> ? E : never

const covers = (scopes: Scopes, singular: string) =>
  scopes === 'all' || scopes.has(`read:${singular}`) || scopes.has(`write:${singular}`)

/** The reference: whether the scopes cover the events. */
function areCovered(scopes: Scopes, { types: wanted, collections }: Events): boolean {
  const named = wanted.filter(type => type !== '*').map(type => type.split('.')[0] ?? '')
  const listed = (collections ?? []).map(name => singulars.get(name) ?? '')
  return [...named, ...listed].every(singular => covers(scopes, singular))
}

function hasAll(scopes: Scopes, others: Scopes): boolean {
  if (scopes === 'all') return true
  return others !== 'all' && [...others].every(scope => scopes.has(scope) || isImplied(scopes, scope))
}

const isImplied = (scopes: ReadonlySet<string>, scope: string) =>
  scope.startsWith('read:') && scopes.has(scope.replace('read:', 'write:'))

const caller = (scopes: Scopes): Principal =>
  user(1, 'user', scopes, undefined, undefined, { app: null, grant: 'key:1' })

function partsWith(stored: object | null): WebhookRuleParts {
  const run = { item: () => ({ text: stored && JSON.stringify(stored) }) } as unknown as Run
  const rest = { allowPrivate: false, maxPerUser: 50, lastEvent: () => 7 }
  return { run, types: new EventTypes(model), ...rest }
}

async function isAllowed(attempt: () => unknown): Promise<boolean> {
  try {
    await attempt()
    return true
  } catch (error) {
    assert.ok(error instanceof ApiError, String(error))
    return false
  }
}

const asValues = ({ types: list, collections }: Events) => ({
  types: list,
  ...(collections && { collections }),
})

test('a webhook is created only if the scopes cover its events, and stores these scopes', async () => {
  await fc.assert(
    fc.asyncProperty(someScopes, someEvents, async (scopes, events) => {
      const hook = newWebhookHook(partsWith(null))
      const values = { url: 'https://example.com/', ...asValues(events) } as Record<string, JsonValue>
      const make = async () => {
        const { computed } = await hook(values, caller(scopes))
        assert.deepEqual(computed.scopes, scopes === 'all' ? null : [...scopes].sort())
        assert.deepEqual([computed.grant, computed.position], ['key:1', 7])
      }
      assert.equal(await isAllowed(make), areCovered(scopes, events))
    }),
    { numRuns: 300 },
  )
})

test('a webhook is changed only by a credential with all its scopes, and within them', async () => {
  const shape = updateShape('webhooks', ['types', 'collections'])
  await fc.assert(
    fc.asyncProperty(someScopes, someScopes, someEvents, async (own, callers, events) => {
      const scopes = own === 'all' ? null : [...own]
      const rule = webhookRule(
        partsWith({ id: 5, user_id: 1, types: ['*'], collections: null, scopes, grant: null }),
      )
      const plan = { shape, args: [5, events.types, events.collections] }
      const change = () => rule(plan, caller(callers))
      assert.equal(await isAllowed(async () => change()), hasAll(callers, own) && areCovered(own, events))
    }),
    { numRuns: 300 },
  )
})
