import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonValue } from '../../src/model/fields/type.ts'
import { schemaFaults } from '../../src/model/json-schema/faults.ts'

test('uniqueItems compares items as JSON values (JSON Schema 2020-12 core, 4.2.2)', () => {
  const schema = { type: 'array', uniqueItems: true }
  const equal: readonly (readonly JsonValue[])[] = [
    [1, 1],
    [1, 1.0],
    [0, -0],
    ['a', 'b', 'a'],
    [null, false, null],
    [
      [1, [2]],
      [1, [2]],
    ],
    [
      { a: 1, b: { c: 2, d: 3 } },
      { b: { d: 3, c: 2 }, a: 1 },
    ],
    JSON.parse('[{"__proto__":1,"a":2},{"a":2,"__proto__":1}]'),
  ]
  for (const items of equal) {
    assert.deepEqual(
      schemaFaults(schema, items, true),
      [{ code: 'not_unique', must: 'have no item twice', pointer: '' }],
      JSON.stringify(items),
    )
  }
  const different: readonly (readonly JsonValue[])[] = [
    [],
    [1, '1', true, 'true', null, 'null', [1], ['1'], {}, []],
    [['a', 'b'], ['a,b'], ['a","b']],
    [{ a: 1 }, { a: 1, b: null }, { a: { b: 1 } }, { 'a":1,"b': 1 }],
    [{}, JSON.parse('{"__proto__":1}')],
  ]
  for (const items of different)
    assert.deepEqual(schemaFaults(schema, items, true), [], JSON.stringify(items))
  assert.deepEqual(schemaFaults({ type: 'array', uniqueItems: false }, [1, 1], true), [])
})

test('`url` is an alias of the format `uri`', () => {
  for (const format of ['uri', 'url']) {
    const schema = { type: 'string', format }
    assert.deepEqual(schemaFaults(schema, 'https://example.com/a?b#c', true), [])
    const must = 'be an http or https URL, e.g. https://example.com/page'
    for (const wrong of ['example.com', 'ftp://example.com/', `http://${'a.'.repeat(500)}a/`]) {
      assert.deepEqual(schemaFaults(schema, wrong, true), [{ code: 'bad_format', must, pointer: '' }], wrong)
    }
  }
})
