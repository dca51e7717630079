/** JSON documents that a write merges (RFC 7396). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../src/base/principal.ts'
import { createGuard } from '../../../../src/engine/plan/guard/guard.ts'
import type { UpdateShape } from '../../../../src/engine/plan/plan.ts'
import { mergePatch } from '../../../../src/engine/store/write/documents.ts'
import { collection, json, model, signedIn, string } from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { JsonValue } from '../../../../src/model/fields/type.ts'
import { Client, fields, parsed } from '../blog.ts'
import { failure } from '../contract.ts'
import { databaseKinds } from '../databases.ts'

// RFC 7396, appendix A: target, patch, result.
const cases: readonly (readonly [string, string, string])[] = [
  ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
  ['{"a":"b"}', '{"a":null}', '{}'],
  ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
  ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
  ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
  ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
  ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
  ['["a","b"]', '["c","d"]', '["c","d"]'],
  ['{"a":"b"}', '["c"]', '["c"]'],
  ['{"a":"foo"}', 'null', 'null'],
  ['{"a":"foo"}', '"bar"', '"bar"'],
  ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
  ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
  ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  // Not in the RFC: members named like properties of every object.
  ['{"__proto__":{"a":1}}', '{"__proto__":{"b":2},"toString":null}', '{"__proto__":{"a":1,"b":2}}'],
  ['{}', '{"constructor":{"x":1}}', '{"constructor":{"x":1}}'],
]

for (const [target, patch, result] of cases) {
  test(`merging ${patch} into ${target} gives ${result}`, () => {
    assert.equal(JSON.stringify(mergePatch(JSON.parse(target), JSON.parse(patch))), result)
  })
}

test('merging changes the target in place, and neither changes nor shares the objects of the patch', () => {
  const target = { a: { b: 1 }, e: 5 }
  const patch = { a: { c: 2 }, d: { f: 3 }, e: null }
  const merged = mergePatch(target, patch)
  assert.equal(merged, target)
  mergePatch(merged, { a: { c: 4 }, d: { f: 6 } })
  assert.deepEqual(target, { a: { b: 1, c: 4 }, d: { f: 6 } })
  assert.deepEqual(patch, { a: { c: 2 }, d: { f: 3 }, e: null })
})

const notes = checkModel(
  model({
    notes: collection({
      updatedAt: true,
      fields: { title: string(), extra: json({ default: {} }), other: json({ optional: true }) },
      access: { read: signedIn, create: signedIn, update: signedIn, delete: signedIn },
    }),
  }),
)
const ann = user(1, 'user', 'all')

interface OpenedStore {
  readonly client: Client
  patch(values: Readonly<Record<string, JsonValue>>): Promise<Record<string, JsonValue>>
  events(): Promise<unknown[]>
}

for (const { name, within } of databaseKinds) {
  const withNote = (extra: JsonValue, use: (opened: OpenedStore) => Promise<void>): Promise<void> =>
    within(async ({ open, rows }) => {
      const store = await open(notes)
      const guard = createGuard(notes)
      try {
        const client = new Client(store, notes)
        await client.create('notes', { title: 'a', extra })
        await use({
          client,
          patch: async values => {
            const shape: UpdateShape = {
              kind: 'update',
              mode: 'merge',
              documents: 'merge',
              collection: 'notes',
              id: 0,
              set: Object.keys(values).map((field, index) => ({ field, param: index + 1 })),
              ifMatch: undefined,
              select: fields('title', 'extra', 'other', 'updated_at'),
            }
            const { text } = await store.write(guard({ shape, args: [1, ...Object.values(values)] }, ann))
            return parsed(text) as Record<string, JsonValue>
          },
          events: async () => (await rows('SELECT kind, data, changed FROM _events ORDER BY id')).slice(1),
        })
      } finally {
        await store.close()
      }
    })

  test(`${name}: concurrent patches are merged one after the other, and none is lost`, async () => {
    await withNote({}, async ({ patch }) => {
      const names = Array.from({ length: 20 }, (_, index) => `k${index}`)
      await Promise.all(names.map(name => patch({ extra: { [name]: { deep: 1 }, last: name } })))
      const { extra } = await patch({})
      assert.deepEqual(Object.keys(extra as object).sort(), [...names, 'last'].sort())
    })
  })

  test(`${name}: the event contains the merged document and the changed fields; a patch without changes is not logged`, async () => {
    await withNote({ a: 1, b: { c: 2 } }, async ({ patch, events }) => {
      await patch({ title: 'a', extra: { a: 1, b: { d: null } } })
      assert.deepEqual(await events(), [])
      await patch({ title: 'a', extra: { b: { c: null, e: 3 } }, other: { x: null } })
      const [event, ...more] = (await events()) as { kind: string; data: string; changed: string }[]
      assert.deepEqual([event?.kind, more.length], ['updated', 0])
      const { extra, other } = JSON.parse(event?.data ?? '')
      assert.deepEqual([extra, other], [{ a: 1, b: { e: 3 } }, {}])
      assert.deepEqual(JSON.parse(event?.changed ?? '').sort(), ['extra', 'other', 'updated_at'])
    })
  })

  test(`${name}: patches cannot grow a document beyond its limit, but can shrink one that exceeds it`, async () => {
    const part = 'x'.repeat(400_000)
    await withNote({}, async ({ client, patch }) => {
      await patch({ extra: { a: part } })
      await patch({ extra: { b: part } })
      await assert.rejects(patch({ extra: { c: part } }), failure('VALIDATION_FAILED', 'extra', 'too_long'))
      await client.update('notes', 1, { extra: { a: part, b: part, c: part } })
      await assert.rejects(patch({ extra: { d: 1 } }), failure('VALIDATION_FAILED', 'extra', 'too_long'))
      const { extra } = await patch({ extra: { a: null } })
      assert.deepEqual(Object.keys(extra as object), ['b', 'c'])
    })
  })

  test(`${name}: a write that does not request a merge replaces the document`, async () => {
    await withNote({ a: 1 }, async ({ client, patch }) => {
      await client.update('notes', 1, { extra: { b: null } })
      assert.deepEqual((await patch({})).extra, { b: null })
    })
  })

  test(`${name}: a failed patch in a batch does not change the document`, async () => {
    await withNote({ a: 1 }, async ({ client, patch }) => {
      const outcomes = await Promise.allSettled([
        patch({ extra: { b: 2 } }),
        client.update('notes', 9, { title: 'x' }),
        patch({ title: 'b', extra: { c: 'x'.repeat(1_100_000) } }),
        patch({ extra: { d: 4 } }),
      ])
      assert.deepEqual(
        outcomes.map(outcome => outcome.status),
        ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
      )
      const { title, extra } = await patch({})
      assert.deepEqual([title, extra], ['a', { a: 1, b: 2, d: 4 }])
    })
  })
}
