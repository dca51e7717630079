/** Every field type: valid and invalid values, canonical forms, and the texts of filters. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boolean,
  choice,
  date,
  datetime,
  email,
  integer,
  json,
  number,
  relation,
  string,
  text,
  url,
  uuid,
} from '../../src/index.ts'
import type { FieldDeclaration } from '../../src/model/fields/declared.ts'
import type { FilterOperator, JsonValue } from '../../src/model/fields/type.ts'
import { canonicalOf } from '../../src/model/json-schema/faults.ts'

interface TypeCase {
  readonly field: FieldDeclaration
  /** Valid values that are already canonical. */
  readonly same: readonly JsonValue[]
  /** Valid values and their canonical forms. */
  readonly becomes?: readonly (readonly [JsonValue, JsonValue])[]
  readonly refused: readonly JsonValue[]
  readonly operators: readonly FilterOperator[]
  readonly sortable?: boolean
  /** Texts of query parameters and their values; undefined: invalid. */
  readonly texts: readonly (readonly [string, JsonValue | undefined])[]
}

const maxInteger = Number.MAX_SAFE_INTEGER
const ordered: FilterOperator[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null']
const textual: FilterOperator[] = [...ordered, 'contains', 'icontains', 'starts_with']
const deep = (levels: number): JsonValue => (levels === 0 ? [] : [deep(levels - 1)])
const id = '0b1c9c1e-6f5d-4c39-9a53-2f6f3b8e4d10'

const cases: Readonly<Record<string, TypeCase>> = {
  string: {
    field: string(),
    same: ['', 'a', 'a\tb', 'ü', '😀', 'x'.repeat(255), '😀'.repeat(255), '__proto__', ' a '],
    refused: ['x'.repeat(256), 'a\nb', 'a\rb', 'a\u0000b', '\ud800', 'a\udc00', 1, true, null, [], {}],
    operators: textual,
    texts: [
      ['', ''],
      ['1', '1'],
      ['a\u0000', undefined],
      ['\ud800', undefined],
    ],
  },
  'string with bounds': {
    field: string({ min: 2, max: 3, pattern: '^[a-z]+$' }),
    same: ['ab', 'abc'],
    refused: ['a', 'abcd', 'AB', 'ab\n'],
    operators: textual,
    texts: [['anything at all', 'anything at all']],
  },
  'string with a length and a pattern that needs the u flag': {
    field: string({ length: 2, pattern: '^\\p{L}+$' }),
    same: ['äö', 'ab'],
    refused: ['a', 'abc', 'a1'],
    operators: textual,
    texts: [],
  },
  'text with a pattern, which is limited to 1,000 characters': {
    field: text({ pattern: '^(a+)+$' }),
    same: ['a', 'a'.repeat(1000)],
    refused: ['a'.repeat(1001), `${'a'.repeat(100_000)}!`, 'b'],
    operators: textual,
    texts: [],
  },
  text: {
    field: text({ max: 10 }),
    same: ['', 'a\nb\r\nc', '😀😀😀😀😀😀😀😀😀😀'],
    refused: ['x'.repeat(11), '\u0000', '\udfff', 5, null],
    operators: textual,
    texts: [['a\nb', 'a\nb']],
  },
  integer: {
    field: integer(),
    same: [0, 1, -1, maxInteger, -maxInteger],
    becomes: [[-0, 0]],
    refused: [1.5, maxInteger + 1, -maxInteger - 1, 1e300, Number.POSITIVE_INFINITY, '1', true, null, [1]],
    operators: ordered,
    texts: [
      ['0', 0],
      ['-7', -7],
      [String(maxInteger), maxInteger],
      ['9007199254740992', undefined],
      ...['', ' 1', '1 ', '+1', '01', '-0', '1e3', '0x1', '1.0', '--1', '١', '1\n', 'NaN', '1_000'].map(
        wrong => [wrong, undefined] as const,
      ),
    ],
  },
  'integer with bounds': {
    field: integer({ min: 1, max: 5 }),
    same: [1, 5],
    refused: [0, 6],
    operators: ordered,
    texts: [['99', 99]],
  },
  number: {
    field: number({ min: -2, max: 1e21 }),
    same: [0, 1.5, -2, 1e21, 5e-324],
    becomes: [[-0, 0]],
    refused: [-2.1, 2e21, Number.POSITIVE_INFINITY, Number.NaN, '1.5', null],
    operators: ordered,
    texts: [
      ['1.5', 1.5],
      ['-1e3', -1000],
      ['-0', 0],
      ...['', '.5', '1.', '01', '+1', '1e999', 'Infinity', 'NaN', '0x1', ' 1', '1,5', '9'.repeat(500)].map(
        wrong => [wrong, undefined] as const,
      ),
    ],
  },
  boolean: {
    field: boolean(),
    same: [true, false],
    refused: [0, 1, 'true', null],
    operators: ['eq', 'ne', 'null'],
    texts: [
      ['true', true],
      ['false', false],
      ['TRUE', undefined],
      ['1', undefined],
      ['', undefined],
    ],
  },
  date: {
    field: date(),
    same: ['2026-01-31', '2024-02-29', '2000-02-29', '0000-02-29', '9999-12-31'],
    refused: [
      ...['2026-02-29', '1900-02-29', '2026-04-31', '2026-13-01', '2026-00-10', '2026-01-00', '2026-1-1'],
      ...['26-01-01', '2026-01-01T00:00:00Z', ' 2026-01-01', '2026-01-01\n', '+02026-01-01', ''],
      20260101,
      null,
    ],
    operators: ordered,
    texts: [
      ['2026-01-31', '2026-01-31'],
      ['2026-02-30', undefined],
    ],
  },
  datetime: {
    field: datetime(),
    same: ['2026-01-31T12:00:00.000Z', '0000-01-01T00:00:00.000Z', '9999-12-31T23:59:59.999Z'],
    becomes: [
      ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
      ['2026-01-31t12:00:00z', '2026-01-31T12:00:00.000Z'],
      ['2026-01-31T12:00:00.1Z', '2026-01-31T12:00:00.100Z'],
      ['2026-01-31T12:00:00.1239999Z', '2026-01-31T12:00:00.123Z'],
      ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
      ['2024-02-28T23:30:00-00:45', '2024-02-29T00:15:00.000Z'],
      ['0001-01-01T00:00:00+00:01', '0000-12-31T23:59:00.000Z'],
      ['2026-01-31T12:00:00-00:00', '2026-01-31T12:00:00.000Z'],
    ],
    refused: [
      ...['2026-01-31T12:00:00', '2026-01-31 12:00:00Z', '2026-01-31T24:00:00Z', '2026-01-31T23:59:60Z'],
      ...['2026-02-30T00:00:00Z', '2026-01-31T12:60:00Z', '2026-01-31T12:00Z', '2026-01-31T12:00:00.Z'],
      ...['0000-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01', '+010000-01-01T00:00:00Z', '2026-01-31'],
      ...['2026-01-31T12:00:00+24:00', '2026-01-31T12:00:00+01', `2026-01-31T12:00:00.${'1'.repeat(99)}Z`],
      1769860800000,
      null,
    ],
    operators: ordered,
    texts: [
      ['2026-01-31T12:00:00Z', '2026-01-31T12:00:00.000Z'],
      ['yesterday', undefined],
    ],
  },
  json: {
    field: json(),
    same: [[], {}, 'a', 0, true, { a: [null, { b: 'c' }] }, deep(60), JSON.parse('{"__proto__":{"x":1}}')],
    refused: [null, deep(64), { a: '\u0000' }, { 'a\u0000': 1 }, ['\ud800'], [Number.POSITIVE_INFINITY]],
    operators: ['null'],
    sortable: false,
    texts: [
      ['{}', undefined],
      ['1', undefined],
    ],
  },
  'json with a schema': {
    field: json({ schema: { type: 'array', items: { type: 'string' }, uniqueItems: true } }),
    same: [[], ['a', 'b']],
    refused: [{}, 'a', [1], ['a', 'a'], null],
    operators: ['null'],
    sortable: false,
    texts: [],
  },
  'json with a schema that would allow null': {
    field: json({ schema: { enum: [1, null] } }),
    same: [1],
    refused: [null, 2],
    operators: ['null'],
    sortable: false,
    texts: [],
  },
  choice: {
    field: choice(['draft', 'in-review', 'Done_1']),
    same: ['draft', 'in-review', 'Done_1'],
    refused: ['', 'Draft', 'draft ', 'lost', 1, null],
    operators: ['eq', 'ne', 'in', 'null'],
    texts: [
      ['draft', 'draft'],
      ['lost', undefined],
      ['constructor', undefined],
    ],
  },
  email: {
    field: email(),
    same: ['ada@example.com', "o'hara+x@sub.example.co.uk", `${'a'.repeat(64)}@example.com`],
    becomes: [
      ['Ada@EXAMPLE.com', 'ada@example.com'],
      // RFC 3492: the domain in ASCII.
      ['ada@exämple.com', 'ada@xn--exmple-cua.com'],
    ],
    refused: [
      ...[
        'ada',
        'ada@',
        '@example.com',
        'ada@example',
        'a b@example.com',
        'ada@-example.com',
        'ada@example-.com',
      ],
      ...['.ada@example.com', 'ada..l@example.com', 'ada@example..com', 'ada@example.com\n'],
      ...[`${'a'.repeat(65)}@example.com`, `a@${'b'.repeat(64)}.com`, `a@${'b.'.repeat(130)}com`, '<a@b.co>'],
      ...['ada@example.com,eve@example.com', '"a"@example.com', ''],
      3,
      null,
    ],
    operators: textual,
    texts: [
      ['ADA', 'ada'],
      ['a\u0000', undefined],
    ],
  },
  url: {
    field: url({ max: 60 }),
    same: [
      ...['https://example.com', 'http://a.b:8080/c?d=e&f=%20#g', 'https://[::1]/', 'https://EXAMPLE.com/A'],
      // Schemes are case-insensitive (RFC 3986, 3.1).
      'HTTPS://example.com',
      ...[
        'http://localhost',
        'http://127.0.0.1:65535',
        'https://a_b.example./',
        'https://x?y/z?#/?',
        'http://1x.2y',
      ],
      ...[
        "https://u:p@e.com/a;b=c,d/(e)'!*~$&+@:",
        'https://xn--bcher-kva.example/',
        'http://[2001:db8::1.2.3.4]:1/',
      ],
    ],
    refused: [
      ...[
        'example.com',
        '//example.com',
        'javascript:alert(1)',
        'data:text/html,x',
        'ftp://example.com',
        'https://',
      ],
      ...[
        'https://exa mple.com',
        'https://example.com/\n',
        'https://example.com/ä',
        'https://example.com/%zz',
      ],
      ...[
        ' https://example.com',
        'https://example.com:99999',
        // No host (RFC 9110, 4.2.1); a colon without a port; a host that reads as another when decoded.
        ...[
          'http:///x',
          'http://?x',
          'http://#x',
          'http://@/',
          'http://:80/',
          'https://a:/',
          'http://%41/',
          'https://a@/',
        ],
        // Not valid by RFC 3986 or by the WHATWG URL standard.
        ...[
          'http://e.com/[x]',
          'http://e.com/?a[]=1',
          'http://e.com/#a#b',
          'http://a@b@c/',
          'http://e.com/\\x',
        ],
        ...[
          'http://256.1.1.1/',
          'http://1.2.3',
          'http://08.1.1.1',
          'http://0x7f.1',
          'http://1.2.3.4.5',
          'http://x.0xa/',
        ],
        ...['http://[1::2::3]/', 'http://[::1', 'http://a..b/', 'http://a!b/', 'http://e.com:-1/'],
        `https://e.com/${'a'.repeat(60)}`,
      ],
      1,
      null,
    ],
    operators: textual,
    texts: [['example', 'example']],
  },
  uuid: {
    field: uuid(),
    same: [id, '00000000-0000-0000-0000-000000000000'],
    becomes: [[id.toUpperCase(), id]],
    refused: [
      id.slice(1),
      `{${id}}`,
      `urn:uuid:${id}`,
      id.replaceAll('-', ''),
      `${id}\n`,
      'g'.repeat(36),
      1,
      null,
    ],
    operators: ordered,
    texts: [
      [id.toUpperCase(), id],
      ['x', undefined],
    ],
  },
  relation: {
    field: relation('users'),
    same: [1, maxInteger],
    refused: [0, -1, 1.5, '1', null, maxInteger + 1],
    operators: ordered,
    texts: [
      ['1', 1],
      ['01', undefined],
    ],
  },
}

for (const [name, expected] of Object.entries(cases)) {
  const { type, faults } = expected.field
  test(`${name}: valid values are canonicalized, and others refused`, () => {
    assert.deepEqual(faults, [])
    for (const value of expected.same)
      assert.deepEqual(canonicalOf(type, value), { value }, JSON.stringify(value))
    for (const [value, becomes] of expected.becomes ?? []) {
      assert.deepEqual(canonicalOf(type, value), { value: becomes }, JSON.stringify(value))
      assert.deepEqual(canonicalOf(type, becomes), { value: becomes })
    }
    for (const value of expected.refused) {
      const outcome = canonicalOf(type, value)
      assert.ok('fault' in outcome, `${JSON.stringify(value)} was accepted`)
      assert.match(outcome.fault, /^[A-Z].*\.$/s)
    }
  })

  test(`${name}: operators, sorting and texts of filters`, () => {
    assert.deepEqual([...type.operators].sort(), [...expected.operators].sort())
    assert.equal(type.sortable, expected.sortable ?? true)
    for (const [written, value] of expected.texts) {
      assert.deepEqual(type.fromText(written), value, JSON.stringify(written))
    }
  })
}

test('each type has its column types and its GraphQL type', () => {
  const typesOf = (field: FieldDeclaration) => {
    const { encoding, graphql } = field.type
    const { type } = graphql
    const typeName = typeof type === 'string' ? type : 'name' in type ? type.name : 'Enum'
    return [encoding.name, encoding.sqlite.type, encoding.postgres.type, typeName].join(' | ')
  }
  assert.equal(typesOf(string()), 'text | TEXT | text COLLATE "C" | String')
  assert.equal(typesOf(text()), 'text | TEXT | text COLLATE "C" | String')
  assert.equal(typesOf(email()), 'text | TEXT | text COLLATE "C" | String')
  assert.equal(typesOf(url()), 'text | TEXT | text COLLATE "C" | String')
  assert.equal(typesOf(choice(['a'])), 'text | TEXT | text COLLATE "C" | Enum')
  assert.equal(typesOf(uuid()), 'text | TEXT | text COLLATE "C" | String')
  assert.equal(typesOf(integer()), 'number | INTEGER | bigint | Float')
  assert.equal(typesOf(integer({ min: 0, max: 2 ** 31 - 1 })), 'number | INTEGER | bigint | Int')
  assert.equal(typesOf(integer({ min: 0, max: 2 ** 31 })), 'number | INTEGER | bigint | Float')
  assert.equal(typesOf(relation('users')), 'number | INTEGER | bigint | ID')
  assert.equal(typesOf(number()), 'number | REAL | double precision | Float')
  assert.equal(typesOf(boolean()), 'boolean | INTEGER | boolean | Boolean')
  assert.equal(typesOf(date()), 'date | TEXT | text COLLATE "C" | Date')
  assert.equal(typesOf(datetime()), 'datetime | TEXT | text COLLATE "C" | DateTime')
  assert.equal(typesOf(json()), 'json | TEXT | json | JSON')
})

test('every type refuses unknown options', () => {
  const fieldFunctions = [string, text, email, url, uuid, integer, number, boolean, date, datetime, json]
  for (const builder of fieldFunctions as readonly ((options: object) => FieldDeclaration)[]) {
    for (const option of ['naturalNumber', 'constructor']) {
      const { faults, type } = builder({ [option]: 1 })
      assert.deepEqual(
        faults.map(fault => fault.option),
        [option],
        type.name,
      )
    }
  }
})
