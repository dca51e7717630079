/** Filter inputs → filters of the plan, order inputs → sort keys. */

import { leavesOf } from '../../../base/predicate.ts'
import { allOf, type Filter, maxListedValues, type Sort } from '../../../engine/plan/plan.ts'
import { takesText } from '../../../engine/plan/text-match.ts'
import { containedFault } from '../../../engine/plan/text-search.ts'
import { isStorable } from '../../../model/fields/textual.ts'
import type { FilterOperator, JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field, Relation } from '../../../model/model.ts'
import { badRequest } from '../bad-request.ts'
import { operatorName } from '../schema/leaf-types.ts'
import type { Input, Variables } from './input.ts'
import { createGetter, type PlanParameters } from './parameters.ts'
import type { PlanContext } from './plan-context.ts'

const maxSortKeys = 10
/** Databases limit the depth of a statement: https://www.sqlite.org/limits.html, 5. */
const maxNestedRelations = 10

/** Throws a `GraphQLError` for a filter that is not allowed. */
export function planFilter(input: Input, collection: Collection, context: PlanContext): Filter {
  const filter = planParts(input, collection, context)
  const relations = relationsWithin(filter)
  if (relations <= maxNestedRelations) return filter
  const message = `The filter follows ${relations} relations, one within another; at most ${maxNestedRelations} are allowed.`
  throw badRequest(message, input.node)
}

function relationsWithin(filter: Filter): number {
  const relations = leavesOf(filter).map(leaf =>
    leaf.kind === 'related' ? 1 + relationsWithin(leaf.filter) : 0,
  )
  return Math.max(0, ...relations)
}

function planParts(input: Input, collection: Collection, context: PlanContext): Filter {
  if (input.kind !== 'object') return allOf([])
  const filters = [...input.fields].flatMap(([key, value]) => {
    context.parameters.countCondition(value.node)
    if (value.kind === 'null') {
      throw badRequest(`"${key}" must not be null in a filter. Omit it, or use isNull.`, value.node)
    }
    return planPart(key, value, collection, context)
  })
  return allOf(filters)
}

function planPart(
  key: string,
  value: Input,
  collection: Collection,
  context: PlanContext,
): Filter | readonly Filter[] {
  const planNested = (input: Input) => planParts(input, collection, context)
  if (key === 'not') return { kind: 'not', part: planNested(value) }
  if (key === 'and' || key === 'or') {
    return { kind: key, parts: value.kind === 'list' ? value.items.map(planNested) : [] }
  }
  const member = context.directory.filterable.get(collection.name)?.get(key)
  if (!member) throw new Error(`nothing is filtered by ${key}`)
  if ('kind' in member) return planRelated(member, value, context)
  return planComparisons(member, value, context.parameters)
}

function planRelated(relation: Relation, value: Input, context: PlanContext): Filter {
  const target = context.model.collections.get(relation.target)
  if (!target) throw new Error(`there is no collection ${relation.target}`)
  return {
    kind: 'related',
    relation: relation.name,
    filter: planParts(value, target, context),
  }
}

function planComparisons(field: Field, value: Input, parameters: PlanParameters): readonly Filter[] {
  if (value.kind !== 'object') return []
  return [...value.fields].map(([name, operand]) => {
    parameters.countCondition(operand.node)
    if (operand.kind === 'null') {
      const message = `"${name}" must not be null. Use isNull to find missing values.`
      throw badRequest(message, operand.node)
    }
    const operator = operatorOf(name, field)
    const param = parameters.add(createGetter(operand, canonicalOf(field, operator)))
    return { kind: 'compare', field: field.name, operator, param }
  })
}

function operatorOf(name: string, field: Field): FilterOperator {
  const operator = field.type.operators.find(candidate => operatorName(candidate) === name)
  if (!operator) throw new Error(`${field.name} is not filtered with ${name}`)
  return operator
}

/** Returns a function that checks a filter's value and returns its canonical form. It throws a `RangeError` for a value that no item can have. */
function canonicalOf(field: Field, operator: FilterOperator): (value: unknown) => JsonValue {
  const { type } = field
  const canonicalValue = (value: unknown): JsonValue =>
    type.canonical(type.graphql.fromInput?.(value) ?? (value as JsonValue))
  if (operator === 'null') return value => value === true
  if (takesText(operator)) return value => textOperand(operator, value, type)
  return operator === 'in' ? value => listValues(value).map(canonicalValue) : canonicalValue
}

function listValues(value: unknown): readonly unknown[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value]
  if (values.length <= maxListedValues) return values
  throw new RangeError(`"in" lists ${values.length} values; at most ${maxListedValues} are allowed.`)
}

function textOperand(operator: FilterOperator, value: unknown, type: Field['type']): string {
  const text = String(value)
  if (!isStorable(text)) {
    throw new RangeError('The text contains a character that stored texts cannot contain.')
  }
  const fault = containedFault(text)
  if (!fault) return type.fromPart?.(text) ?? text
  throw new RangeError(`The text of "${operatorName(operator)}" ${fault.message}.`)
}

/** In the order of the input. If a key is repeated, only the first occurrence counts. */
export function planSort(input: Input | undefined, variables: Variables): readonly Sort[] {
  if (input?.kind !== 'list') return []
  if (input.items.length > maxSortKeys) {
    const message = `"orderBy" has ${input.items.length} keys; at most ${maxSortKeys} are allowed.`
    throw badRequest(message, input.node)
  }
  const sorts = new Map<string, Sort>()
  for (const item of input.items) {
    const sort = item.kind === 'leaf' ? (item.read(variables) as Sort) : undefined
    if (sort && !sorts.has(sort.field)) sorts.set(sort.field, sort)
  }
  return [...sorts.values()]
}
