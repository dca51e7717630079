/** The types of `prepare` and `check`. Most of this file is checked by the compiler. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { choice, collection, integer, relation, string, text, users } from '../../src/index.ts'
import { is } from './type-equality.ts'

const compiled = (declared: { readonly kind: 'collection' }) => assert.equal(declared.kind, 'collection')

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

test('`prepare` gets the next and the previous item', () => {
  compiled(
    collection({
      fields,
      updatedAt: true,
      prepare({ next, previous, caller, now }) {
        is<string>()(next.title)
        is<string | null>()(next.note)
        is<'open' | 'done'>()(next.status)
        // Null until this function sets it.
        is<string | null>()(next.slug)
        is<number>()(next.count)
        is<string | null>()(next.secret)
        is<number | undefined>()(next.id)
        is<number | undefined>()(previous?.id)
        is<string | undefined>()(previous?.slug)
        is<string | undefined>()(previous?.updated_at)
        is<number | null | undefined>()(caller?.id)
        is<string>()(now)
        // @ts-expect-error The field is internal.
        assert.ok(next.hidden)
        // @ts-expect-error The item is read-only.
        next.title = 'x'
        return { slug: next.title, count: next.count + 1 }
      },
    }),
  )
})

test('`prepare` returns valid values of fields of the collection', () => {
  compiled(
    collection({ fields, prepare: ({ next }) => (next.note === null ? { note: 'x', status: 'done' } : {}) }),
  )
  compiled(collection({ fields, prepare: () => undefined }))
  // @ts-expect-error Unknown field.
  compiled(collection({ fields, prepare: () => ({ titel: 'x' }) }))
  // @ts-expect-error Not one of the values.
  compiled(collection({ fields, prepare: () => ({ status: 'lost' }) }))
  // @ts-expect-error A text is needed.
  compiled(collection({ fields, prepare: () => ({ title: null }) }))
  // @ts-expect-error The id cannot be set.
  compiled(collection({ fields, prepare: () => ({ id: 3 }) }))
  // @ts-expect-error `prepare` is synchronous.
  compiled(collection({ fields, prepare: async () => ({ title: 'x' }) }))
})

test('`check` gets the item after `prepare`', () => {
  compiled(
    collection({
      fields,
      check({ next, previous, caller }) {
        is<string>()(next.slug)
        is<string | null>()(next.note)
        is<number | undefined>()(next.id)
        is<string | undefined>()(previous?.slug)
        is<number | null | undefined>()(caller?.id)
        return undefined
      },
    }),
  )
})

test('`check` returns faults that were collected before', () => {
  compiled(
    collection({
      fields,
      check({ next }) {
        const faults = next.title === '' ? [{ field: 'title', message: 'Empty.' }] : []
        return [...faults, ...(next.note === null ? [{ message: 'No note.', code: 'empty' }] : [])]
      },
    }),
  )
  compiled(
    collection({
      fields,
      check({ next }) {
        const faults = []
        if (next.title === '') faults.push({ field: 'title', message: 'Empty.' })
        if (next.note === null) faults.push({ message: 'No note.' })
        return faults
      },
    }),
  )
  compiled(
    collection({
      fields,
      check: ({ next }) => [
        ...(next.title === '' ? [{ field: 'title', message: 'Empty.' }] : []),
        { field: 'note', message: 'Never.' },
      ],
    }),
  )
  users({ fields: {}, check: () => [...[{ field: 'name', message: 'Odd.' }]] })
  // @ts-expect-error The message is missing.
  compiled(collection({ fields, check: () => [...[{ field: 'title' }]] }))
  // @ts-expect-error Unknown field.
  compiled(collection({ fields, check: () => [{ field: 'titel', message: 'Empty.' }, { message: 'x' }] }))
  // @ts-expect-error The name of a field is a text.
  compiled(collection({ fields, check: () => [...[{ field: 3, message: 'Empty.' }]] }))
})

test('`check` returns faults of known fields', () => {
  compiled(
    collection({
      fields,
      check: ({ next }) => (next.title === '' ? [{ field: 'title', message: 'Empty.' }] : []),
    }),
  )
  compiled(collection({ fields, check: () => [{ message: 'Not now.', code: 'closed' }] }))
  // @ts-expect-error Unknown field.
  compiled(collection({ fields, check: () => [{ field: 'titel', message: 'Empty.' }] }))
  // @ts-expect-error The message is missing.
  compiled(collection({ fields, check: () => [{ field: 'title' }] }))
  // @ts-expect-error The comparison can never hold.
  compiled(collection({ fields, check: ({ next }) => (next.status === 'lost' ? [] : undefined) }))
})

test('`check` of users can use the built-in fields', () => {
  const check = users({
    fields: { phone: string({ optional: true }) },
    check: ({ next }) => (next.name === next.phone ? [{ field: 'email', message: 'Odd.' }] : []),
  })
  compiled(check)
  // @ts-expect-error The field is internal.
  users({ check: ({ next }) => (next.password_hash === '' ? [] : []) })
})
