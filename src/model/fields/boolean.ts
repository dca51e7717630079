import { declared, defaultOf, type FieldDeclaration, type FieldOptions } from './declared.ts'
import type { FieldType, JsonValue } from './type.ts'

interface BooleanOptions extends FieldOptions {
  readonly default?: boolean
}

function truth(value: JsonValue): boolean {
  if (typeof value !== 'boolean') throw new RangeError('The value must be true or false.')
  return value
}

const fromText = new Map([
  ['true', true],
  ['false', false],
])

const schema = { type: 'boolean' }

const booleanType: FieldType = {
  name: 'boolean',
  encoding: 'boolean',
  column: { sqlite: 'INTEGER', postgres: 'boolean' },
  graphql: 'Boolean',
  operators: ['eq', 'ne', 'null'],
  sortable: true,
  schema,
  filterSchema: schema,
  canonical: truth,
  fromText: text => fromText.get(text),
}

/** True or false. */
export function boolean<const O extends BooleanOptions>(options?: O): FieldDeclaration<boolean, O> {
  return declared({ type: booleanType, options, checks: { default: defaultOf() } })
}
