import {
  declared,
  defaultOf,
  type FieldDeclaration,
  type FieldOptions,
  type OptionFault,
} from './declared.ts'
import type { FieldType } from './field-type.ts'
import { textEncoding, textOr } from './textual.ts'
import type { JsonValue } from './type.ts'

interface ChoiceOptions<Value extends string> extends FieldOptions {
  readonly default?: Value
}

/** Ensures that every value has a name as a GraphQL enum value (GraphQL 3.9). */
const grammar = /^[A-Za-z][A-Za-z0-9_-]{0,49}$/
/** `in-progress` → `IN_PROGRESS`. */
const enumName = (value: unknown) => String(value).toUpperCase().replaceAll('-', '_')

function valueFaults(values: readonly unknown[]): readonly OptionFault[] {
  if (!Array.isArray(values) || values.length === 0) {
    return [{ option: '', message: "Write the values: `choice(['draft', 'published'])`." }]
  }
  const seen = new Set<string>()
  return values.flatMap(value => {
    if (typeof value !== 'string' || !grammar.test(value)) {
      const message = `The value ${JSON.stringify(value)} must be a letter, then at most 49 letters, digits, _ or -.`
      return [{ option: '', message }]
    }
    const name = enumName(value)
    if (!seen.has(name)) return seen.add(name) && []
    return [{ option: '', message: `The value ${JSON.stringify(value)} appears twice. Leave one out.` }]
  })
}

function choiceType(values: readonly string[]): FieldType {
  const allowed = new Set<JsonValue>(values)
  const requireAllowed = (value: JsonValue) => {
    if (allowed.has(value)) return value
    throw new RangeError(`The value must be one of ${values.join(', ')}.`)
  }
  const schema = { type: 'string', enum: values }
  return {
    name: 'choice',
    encoding: textEncoding,
    graphql: { type: { values: values.map(value => [enumName(value), value]) }, form: 'name' },
    distinctValues: Math.max(1, values.length),
    operators: ['eq', 'ne', 'in', 'null'],
    sortable: true,
    schema,
    filterSchema: schema,
    canonical: requireAllowed,
    fromText: textOr(requireAllowed),
  }
}

/** One of a few named values. */
export function choice<const V extends string, const O extends ChoiceOptions<NoInfer<V>>>(
  values: readonly V[],
  options?: O,
): FieldDeclaration<V, O> {
  return declared({
    type: choiceType(Array.isArray(values) ? values : []),
    options,
    checks: { default: defaultOf() },
    faults: valueFaults(values),
  })
}
