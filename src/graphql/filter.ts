/** Filter inputs → conditions, order inputs → sorts. */
import type { GraphQLSchema } from 'graphql'
import type { FilterOperator, JsonValue } from '../model/fields/type.ts'
import type { Collection, Field, Model, Relation } from '../model/model.ts'
import type { Filter, Sort } from '../plan/plan.ts'
import { containedFault } from '../plan/text-search.ts'
import type { Input, Variables } from './input.ts'
import { badRequest, getterOf, idOf, MAX_LISTED, type Parameters } from './parameters.ts'
import type { Directory } from './types.ts'

/** What plans are made of. */
export interface Ground {
  readonly model: Model
  readonly schema: GraphQLSchema
  readonly directory: Directory
}

const MAX_SORTS = 10
/** Databases bound how deep a statement may be: https://www.sqlite.org/limits.html, 5. */
const MAX_RELATIONS = 10

/** Throws a `GraphQLError` for what cannot be asked. */
export function planFilter(
  input: Input,
  collection: Collection,
  ground: Ground,
  parameters: Parameters,
): Filter {
  const filter = planParts(input, collection, ground, parameters)
  const relations = relationsWithin(filter)
  if (relations <= MAX_RELATIONS) return filter
  const message = `The filter follows ${relations} relations, one within another; at most ${MAX_RELATIONS} are allowed.`
  throw badRequest(message, input.node)
}

function relationsWithin(filter: Filter): number {
  switch (filter.kind) {
    case 'compare':
      return 0
    case 'not':
      return relationsWithin(filter.filter)
    case 'related':
      return 1 + relationsWithin(filter.filter)
    default:
      return Math.max(0, ...filter.filters.map(relationsWithin))
  }
}

function planParts(input: Input, collection: Collection, ground: Ground, parameters: Parameters): Filter {
  if (input.kind !== 'object') return all([])
  const filters = [...input.fields].flatMap(([key, value]) => {
    parameters.countCondition(value.node)
    if (value.kind === 'null') {
      throw badRequest(`"${key}" must not be null in a filter. Leave it out, or use isNull.`, value.node)
    }
    return planPart(key, value, collection, ground, parameters)
  })
  return all(filters)
}

function all(filters: readonly Filter[]): Filter {
  const [only] = filters
  return filters.length === 1 && only ? only : { kind: 'and', filters }
}

function planPart(
  key: string,
  value: Input,
  collection: Collection,
  ground: Ground,
  parameters: Parameters,
): Filter | readonly Filter[] {
  const one = (input: Input) => planParts(input, collection, ground, parameters)
  if (key === 'not') return { kind: 'not', filter: one(value) }
  if (key === 'and' || key === 'or') {
    return { kind: key, filters: value.kind === 'list' ? value.items.map(one) : [] }
  }
  const named = ground.directory.filterable.get(collection.name)?.get(key)
  if (!named) throw new Error(`nothing is filtered by ${key}`)
  if ('kind' in named) return planRelated(named, value, ground, parameters)
  return planComparisons(named, value, parameters)
}

function planRelated(relation: Relation, value: Input, ground: Ground, parameters: Parameters): Filter {
  const target = ground.model.collections.get(relation.target)
  if (!target) throw new Error(`there is no collection ${relation.target}`)
  return {
    kind: 'related',
    relation: relation.name,
    filter: planParts(value, target, ground, parameters),
  }
}

function planComparisons(field: Field, value: Input, parameters: Parameters): readonly Filter[] {
  if (value.kind !== 'object') return []
  return [...value.fields].map(([name, operand]) => {
    parameters.countCondition(operand.node)
    if (operand.kind === 'null') {
      const message = `"${name}" must not be null. Ask for missing values with isNull.`
      throw badRequest(message, operand.node)
    }
    const operator = operatorOf(name, field)
    const param = parameters.add(getterOf(operand, canonicalOf(field, operator)))
    return { kind: 'compare', field: field.name, operator, param }
  })
}

function operatorOf(name: string, field: Field): FilterOperator {
  if (name === 'isNull') return 'null'
  const found = field.type.operators.find(each => each === name)
  if (!found) throw new Error(`${field.name} is not filtered with ${name}`)
  return found
}

/** How a filter's value is checked and made canonical. Throws a `RangeError` for what no field holds. */
function canonicalOf(field: Field, operator: FilterOperator): (value: unknown) => JsonValue {
  const { type } = field
  const one = (value: unknown): JsonValue =>
    type.graphql === 'ID' ? idOf(value) : type.canonical(value as JsonValue)
  if (operator === 'null') return value => value === true
  if (operator === 'contains') return containedText
  return operator === 'in' ? value => listed(value).map(one) : one
}

function listed(value: unknown): readonly unknown[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (values.length <= MAX_LISTED) return values
  throw new RangeError(`"in" lists ${values.length} values; at most ${MAX_LISTED} are allowed.`)
}

function containedText(value: unknown): string {
  const text = String(value)
  if (!text.isWellFormed() || text.includes('\0')) {
    throw new RangeError('The text holds a character that no stored text has.')
  }
  const fault = containedFault(text)
  if (!fault) return text
  throw new RangeError(`The text that "contains" asks for ${fault.message}.`)
}

/** In the order that is asked for; what is asked for twice counts once. */
export function planSort(input: Input | undefined, variables: Variables): readonly Sort[] {
  if (input?.kind !== 'list') return []
  if (input.items.length > MAX_SORTS) {
    const message = `"orderBy" has ${input.items.length} keys; at most ${MAX_SORTS} are allowed.`
    throw badRequest(message, input.node)
  }
  const sorts = new Map<string, Sort>()
  for (const item of input.items) {
    const sort = item.kind === 'leaf' ? (item.read(variables) as Sort) : undefined
    if (sort && !sorts.has(sort.field)) sorts.set(sort.field, sort)
  }
  return [...sorts.values()]
}
