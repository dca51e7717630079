import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ApiError } from '../../../src/base/errors.ts'
import { cursorsOf as cursorsOfOrder, MAX_CURSOR_LENGTH } from '../../../src/engine/plan/cursor.ts'
import { isTotal, reversed, type Sort, totalOrder } from '../../../src/engine/plan/order.ts'
import { collection as declaredCollection, model, role, text } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { JsonValue } from '../../../src/model/fields/type.ts'
import type { Collection } from '../../../src/model/model.ts'
import { smallModel } from './small-model.ts'

const up = (field: string): Sort => ({ field, descending: false })
const down = (field: string): Sort => ({ field, descending: true })

function collection(name: string): Collection {
  const collection = smallModel().collections.get(name)
  assert.ok(collection)
  return collection
}

const posts = collection('posts')
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const assertRefused = (run: () => unknown) =>
  assert.throws(run, error => error instanceof ApiError && error.code === 'INVALID_CURSOR')

const cursorsOf = (collection: Collection, sort: readonly Sort[]) =>
  cursorsOfOrder(collection, totalOrder(sort))

describe('orders', () => {
  test('every order ends with id', () => {
    assert.deepEqual(totalOrder([]), [up('id')])
    assert.deepEqual(totalOrder([up('title')]), [up('title'), up('id')])
    assert.deepEqual(totalOrder([up('rank'), down('title')]), [up('rank'), down('title'), down('id')])
    assert.deepEqual(totalOrder([down('rank'), up('title')]), [down('rank'), up('title'), up('id')])
    assert.deepEqual(totalOrder([down('id'), up('title')]), [down('id')])
  })

  test('an order is total if it ends with id', () => {
    for (const sort of [[], [up('title')], [down('id'), up('title')]]) {
      assert.equal(isTotal(sort), false)
      assert.equal(isTotal(totalOrder(sort)), true)
    }
  })

  test('reversing an order reverses every key', () => {
    assert.deepEqual(reversed(totalOrder([up('title')])), [down('title'), down('id')])
    assert.deepEqual(reversed(totalOrder([down('id')])), [up('id')])
  })
})

describe('cursors', () => {
  test('decoding an encoded cursor returns its values', () => {
    const cursors = cursorsOf(posts, [down('title'), up('rank'), up('public'), up('created_at')])
    const keys = fc.tuple(
      fc.string({ unit: 'grapheme', maxLength: 50 }).filter(text => !text.includes('\0')),
      fc.option(fc.maxSafeInteger()),
      fc.option(fc.boolean()),
      fc.constant('2026-01-01T00:00:00.000Z'),
      fc.maxSafeInteger(),
    )
    fc.assert(
      fc.property(keys, values => {
        const text = cursors.encode(values)
        assert.match(text, /^[A-Za-z0-9_-]+$/)
        assert.deepEqual(cursors.decode(text), values)
      }),
    )
  })

  test('a cursor is refused for another collection, sort or direction', () => {
    const text = cursorsOf(posts, [up('title')]).encode(['a', 1])
    for (const other of [[down('title')], [up('note')], [up('title'), down('id')], []]) {
      assertRefused(() => cursorsOf(posts, other).decode(text))
    }
    const ids = cursorsOf(posts, []).encode([1])
    assertRefused(() => cursorsOf(collection('tags'), []).decode(ids))
    assert.deepEqual(cursorsOf(posts, [up('id')]).decode(ids), [1])
  })

  test('a cursor with values of the wrong number or type is refused', () => {
    const cursors = cursorsOf(posts, [up('title'), up('rank'), up('public')])
    const [binding] = JSON.parse(Buffer.from(cursors.encode(['a', 1, true, 1]), 'base64url').toString())
    const wrong: JsonValue[][] = [
      [],
      ['a', 1, true],
      ['a', 1, true, 1, 1],
      [1, 1, true, 1],
      ['a', '1', true, 1],
      ['a', 1.5, true, 1],
      ['a', 2 ** 53, true, 1],
      ['a', 1, 1, 1],
      ['a', 1, true, null],
      [['a'], 1, true, 1],
      [{ a: 1 }, 1, true, 1],
      ['a\0', 1, true, 1],
      ['\ud800', 1, true, 1],
    ]
    for (const values of wrong) assertRefused(() => cursors.decode(encode([binding, ...values])))
    assert.deepEqual(cursors.decode(encode([binding, 'a', null, false, 1])), ['a', null, false, 1])
  })

  test('a null is refused for a field that is never null, unless it is hidden from some callers', () => {
    const secrets = checkModel(
      model({
        notes: declaredCollection({
          fields: {
            title: text(),
            code: text({ access: { read: role('admin') } }),
            hint: text({ optional: true }),
          },
        }),
      }),
    ).collections.get('notes')
    assert.ok(secrets)
    const decodeNull = (field: string) => {
      const cursors = cursorsOf(secrets, [up(field)])
      const [binding] = JSON.parse(Buffer.from(cursors.encode(['a', 1]), 'base64url').toString())
      return cursors.decode(encode([binding, null, 1]))
    }
    assertRefused(() => decodeNull('title'))
    assertRefused(() => decodeNull('created_at'))
    for (const field of ['code', 'hint']) assert.deepEqual(decodeNull(field), [null, 1], field)
  })

  test('any other text is refused', () => {
    const cursors = cursorsOf(posts, [])
    const good = cursors.encode([1])
    for (const text of [
      '',
      ' ',
      'x',
      `${good}=`,
      `${good} `,
      '%00',
      encode(null),
      encode({}),
      encode('x'),
      encode([]),
    ]) {
      assertRefused(() => cursors.decode(text))
    }
    assertRefused(() => cursors.decode('A'.repeat(MAX_CURSOR_LENGTH + 1)))
    const byNote = cursorsOf(posts, [up('note')])
    const [binding] = JSON.parse(Buffer.from(byNote.encode(['a', 1]), 'base64url').toString())
    assertRefused(() => byNote.decode(encode([binding, 'x'.repeat(MAX_CURSOR_LENGTH), 1])))
    fc.assert(fc.property(fc.string(), text => assertRefused(() => cursors.decode(text))))
  })

  test('sort keys too long for a URL cause an error that says so', () => {
    const cursors = cursorsOf(posts, [up('note')])
    assert.throws(
      () => cursors.encode(['x'.repeat(10_000), 1]),
      error =>
        error instanceof ApiError &&
        error.code === 'BAD_REQUEST' &&
        /values of note, id are too long for a cursor/.test(error.message),
    )
  })
})
