/** A custom field type: an amount of money, stored in cents, and elsewhere a text like `12.50`. */
import type { FieldDeclaration } from '../../src/index.ts'
import { declared, defaultOf, type FieldOptions } from '../../src/model/fields/declared.ts'
import type { Encoding, StoredValue } from '../../src/model/fields/encoding.ts'
import type { FieldType } from '../../src/model/fields/field-type.ts'
import type { JsonValue } from '../../src/model/fields/type.ts'

const grammar = /^(?:0|[1-9][0-9]{0,11})\.[0-9]{2}$/

function amount(value: JsonValue): string {
  if (typeof value === 'string' && grammar.test(value)) return value
  throw new RangeError('The value must be an amount, e.g. 12.50.')
}

const centsOf = (value: JsonValue) => Number(amount(value).replace('.', ''))

function amountOf(cell: StoredValue): string {
  const digits = String(cell).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

const money: Encoding = {
  name: 'money',
  encode: centsOf,
  decode: amountOf,
  isSortKey: value => typeof value === 'string' && grammar.test(value),
  widens: [],
  sqlite: {
    type: 'INTEGER',
    least: '-1',
    check: column => `${column} >= 0`,
    json: column => `CASE WHEN ${column} >= 0 THEN printf('%d.%02d', ${column} / 100, ${column} % 100) END`,
    logged: (event, member) => `CAST(replace(${event} ->> ${member}, '.', '') AS INTEGER)`,
    constant: value => String(centsOf(value)),
    from: (column, was) =>
      was.type === 'TEXT' ? `CAST(replace(${column}, '.', '') AS INTEGER)` : `${column} * 100`,
  },
  postgres: {
    type: 'bigint',
    json: column => `to_json((${column} / 100) || '.' || lpad((${column} % 100)::text, 2, '0'))`,
    logged: (event, member) => `replace(${event}::json ->> ${member}, '.', '')::bigint`,
    constant: value => String(centsOf(value)),
    from: (column, was) => (was.type === 'text' ? `replace(${column}, '.', '')` : `${column} * 100`),
  },
}

const schema = { type: 'string', pattern: grammar.source, maxLength: 15 }

function canonicalOf(text: string): string | undefined {
  return grammar.test(text) ? text : undefined
}

const moneyType: FieldType = {
  name: 'money',
  encoding: money,
  graphql: {
    type: {
      name: 'Money',
      description: 'An amount of money.',
      specifiedByURL: 'https://example.com/money',
      text: { canonical: canonicalOf, example: '12.50' },
    },
  },
  operators: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null'],
  sortable: true,
  schema,
  filterSchema: schema,
  canonical: amount,
  fromText: canonicalOf,
}

/** An amount of money. */
export function price<const O extends FieldOptions & { readonly default?: string }>(
  options?: O,
): FieldDeclaration<string, O> {
  return declared({ type: moneyType, options, checks: { default: defaultOf() } })
}
