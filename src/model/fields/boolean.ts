import { declared, defaultOf, type FieldDeclaration, type FieldOptions } from './declared.ts'
import { type Encoding, loggedAs, loggedValue, type StoredValue } from './encoding.ts'
import type { FieldType } from './field-type.ts'
import type { JsonValue } from './type.ts'

interface BooleanOptions extends FieldOptions {
  readonly default?: boolean
}

function requireBoolean(value: JsonValue): boolean {
  if (typeof value !== 'boolean') throw new RangeError('The value must be true or false.')
  return value
}

const fromText = new Map([
  ['true', true],
  ['false', false],
])

const schema = { type: 'boolean' }

/** As PostgreSQL reads them: https://www.postgresql.org/docs/15/datatype-boolean.html. */
const trueTexts = `'t', 'true', 'y', 'yes', 'on', '1'`
const falseTexts = `'f', 'false', 'n', 'no', 'off', '0'`

/** The texts are PostgreSQL's, because migrations read values as text. */
const cellValues = new Map<StoredValue, boolean>([
  [1, true],
  [0, false],
  ['true', true],
  ['false', false],
])

/** Cells are 1 and 0 on both databases; SQLite has no booleans. */
export const booleanEncoding: Encoding = {
  name: 'boolean',
  maxBytes: 5,
  encode: value => (value ? 1 : 0),
  decode: cell => cellValues.get(cell),
  isSortKey: value => typeof value === 'boolean',
  widens: [],
  sqlite: {
    type: 'INTEGER',
    least: '-9e999',
    check: column => `${column} IN (0, 1)`,
    json: column => `CASE ${column} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END`,
    logged: loggedValue,
    constant: value => (value ? '1' : '0'),
    // An INTEGER column of a STRICT table refuses a text that ends in `?`.
    from: (column, previous) =>
      previous.type === 'TEXT'
        ? `CASE WHEN lower(trim(${column})) IN (${trueTexts}) THEN 1 WHEN lower(trim(${column})) IN (${falseTexts}) THEN 0 ELSE ${column} || '?' END`
        : column,
  },
  postgres: {
    type: 'boolean',
    json: column => `to_json(${column})`,
    extremes: { min: 'bool_and', max: 'bool_or' },
    logged: loggedAs('boolean'),
    constant: String,
    from: (column, previous) =>
      previous.type === 'double precision' ? `(${previous.json})` : `${column}::text`,
  },
}

const booleanType: FieldType = {
  name: 'boolean',
  encoding: booleanEncoding,
  graphql: { type: 'Boolean' },
  distinctValues: 2,
  operators: ['eq', 'ne', 'null'],
  sortable: true,
  schema,
  filterSchema: schema,
  canonical: requireBoolean,
  fromText: text => fromText.get(text),
}

/** True or false. */
export function boolean<const O extends BooleanOptions>(options?: O): FieldDeclaration<boolean, O> {
  return declared({ type: booleanType, options, checks: { default: defaultOf() } })
}
