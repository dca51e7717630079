/** The types of `prepare` and `check`. Most of this file is tested by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choice, collection, integer, relation, string, text, users } from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Compiles only if the value has exactly this type. */
const is =
  <Expected>() =>
  <const Given>(_value: Given, ..._: Equal<Given, Expected> extends true ? [] : [never]) => {}
const made = (declared: { readonly kind: 'collection' }) => assert.equal(declared.kind, 'collection')

const fields = {
  title: text(),
  note: text({ optional: true }),
  status: choice(['open', 'done'], { default: 'open' }),
  slug: string({ readOnly: true }),
  count: integer({ readOnly: true, default: 0 }),
  secret: string({ writeOnly: true, optional: true }),
  hidden: string({ internal: true, optional: true }),
  owner_id: relation('users'),
}

test('`prepare` is given the item as it is to be, and as it is stored', () => {
  made(
    collection({
      fields,
      updatedAt: true,
      prepare({ next, previous, caller, now }) {
        is<string>()(next.title)
        is<string | null>()(next.note)
        is<'open' | 'done'>()(next.status)
        // Nothing but this function sets it.
        is<string | null>()(next.slug)
        is<number>()(next.count)
        is<string | null>()(next.secret)
        is<number | undefined>()(next.id)
        is<number | undefined>()(previous?.id)
        is<string | undefined>()(previous?.slug)
        is<string | undefined>()(previous?.updated_at)
        is<number | undefined>()(caller?.id)
        is<string>()(now)
        // @ts-expect-error It is internal.
        assert.ok(next.hidden)
        // @ts-expect-error All of it is frozen.
        next.title = 'x'
        return { slug: next.title, count: next.count + 1 }
      },
    }),
  )
})

test('`prepare` sets fields of the collection to values that they take', () => {
  made(
    collection({ fields, prepare: ({ next }) => (next.note === null ? { note: 'x', status: 'done' } : {}) }),
  )
  made(collection({ fields, prepare: () => undefined }))
  // @ts-expect-error There is no such field.
  made(collection({ fields, prepare: () => ({ titel: 'x' }) }))
  // @ts-expect-error It is none of the values.
  made(collection({ fields, prepare: () => ({ status: 'lost' }) }))
  // @ts-expect-error A text is needed.
  made(collection({ fields, prepare: () => ({ title: null }) }))
  // @ts-expect-error Nobody sets it.
  made(collection({ fields, prepare: () => ({ id: 3 }) }))
  // @ts-expect-error It is synchronous.
  made(collection({ fields, prepare: async () => ({ title: 'x' }) }))
})

test('`check` returns faults of fields that exist', () => {
  made(
    collection({
      fields,
      check: ({ next }) => (next.title === '' ? [{ field: 'title', message: 'Empty.' }] : []),
    }),
  )
  made(collection({ fields, check: () => [{ message: 'Not now.', code: 'closed' }] }))
  // @ts-expect-error There is no such field.
  made(collection({ fields, check: () => [{ field: 'titel', message: 'Empty.' }] }))
  // @ts-expect-error The message is missing.
  made(collection({ fields, check: () => [{ field: 'title' }] }))
  // @ts-expect-error The comparison can never hold.
  made(collection({ fields, check: ({ next }) => (next.status === 'lost' ? [] : undefined) }))
})

test('users have their built-in fields there, too', () => {
  const check = users({
    fields: { phone: string({ optional: true }) },
    check: ({ next }) => (next.name === next.phone ? [{ field: 'email', message: 'Odd.' }] : []),
  })
  made(check)
  // @ts-expect-error It is internal.
  users({ check: ({ next }) => (next.password_hash === '' ? [] : []) })
})
