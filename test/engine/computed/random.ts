/** Random computed fields for the small model, and plans that use them. */
import fc from 'fast-check'
import { totalOrder } from '../../../src/engine/plan/order.ts'
import type { Filter, Plan, ReadShape, Selected } from '../../../src/engine/plan/plan.ts'
import { dependsOnCaller } from '../../../src/model/check/rules.ts'
import type { CheckedExpression, CheckedPart } from '../../../src/model/computed/computed.ts'
import { date } from '../../../src/model/fields/date.ts'
import type { FieldType } from '../../../src/model/fields/field-type.ts'
import { number } from '../../../src/model/fields/number.ts'
import type { FilterOperator, JsonValue } from '../../../src/model/fields/type.ts'
import type { ComputedField, Model } from '../../../src/model/model.ts'
import type { Rule } from '../../../src/model/rule/rule.ts'
import { choices, type Name, names, relations, rule, texts } from '../plan/random.ts'
import { anyone, field, nobody, smallModel, types } from '../plan/small-model.ts'

const real = number().type
const day = date().type

type Kind = 'integer' | 'text' | 'boolean' | 'real' | 'day'

const typeOf: Readonly<Record<Kind, FieldType>> = {
  integer: types.integer,
  text: types.text,
  boolean: types.boolean,
  real,
  day,
}

/** Each collection has one computed field per kind: `c_integer` and so on. */
const kinds: readonly Kind[] = ['integer', 'text', 'boolean', 'real', 'day']

const stored: Readonly<Record<Name, Readonly<Record<Kind, readonly string[]>>>> = {
  users: { integer: ['level', 'id', 'boss_id'], text: ['name'], boolean: [], real: [], day: [] },
  posts: {
    integer: ['rank', 'id', 'author_id'],
    text: ['title', 'note'],
    boolean: ['public'],
    real: [],
    day: [],
  },
  tags: { integer: ['id'], text: ['label'], boolean: [], real: [], day: [] },
  post_tags: { integer: ['id', 'post_id'], text: [], boolean: [], real: [], day: [] },
}

type ArbitraryExpression = fc.Arbitrary<CheckedExpression>

const typed = (part: fc.Arbitrary<CheckedPart>, kind: Kind, optional = true): ArbitraryExpression =>
  part.map(part => ({ ...part, type: typeOf[kind], optional }))

const literals: Readonly<Record<Kind, fc.Arbitrary<string | number | boolean>>> = {
  integer: fc.constantFrom(0, 1, 2, -1, Number.MAX_SAFE_INTEGER),
  text: texts,
  boolean: fc.boolean(),
  real: fc.constantFrom(0.5, 1.5, -2, 0.1, 1e200, 1e-200),
  day: fc.constantFrom('2026-01-01', '2024-02-29', '0000-03-01'),
}

const literal = (kind: Kind): ArbitraryExpression =>
  typed(
    literals[kind].map(value => ({ kind: 'literal', value })),
    kind,
    false,
  )

/** Fields of the row or of related rows, up to `depth` relations away. */
function fieldsOf(collection: Name, kind: Kind, depth = 2): { path: string[]; field: string }[] {
  const ownFields = stored[collection][kind].map(name => ({ path: [], field: name }))
  if (depth === 0) return ownFields
  const beyond = relations[collection]
    .filter(([, , many]) => many === 'one')
    .flatMap(([relation, target]) =>
      fieldsOf(target, kind, depth - 1).map(field => ({ ...field, path: [relation, ...field.path] })),
    )
  return [...ownFields, ...beyond]
}

const where = (name: Name): fc.Arbitrary<Rule> =>
  fc.oneof({ weight: 1, arbitrary: fc.constant(anyone) }, { weight: 2, arbitrary: rule(name, 1) })

/** The related rows of an aggregate. Only conditions that do not depend on the caller can be published. */
const counted = (name: Name) =>
  fc
    .tuple(where(name), fc.boolean())
    .map(([rows, asSystem]) => ({ where: rows, asSystem: asSystem && !dependsOnCaller(rows), stored: false }))

function overMany(collection: Name, kind: Kind): ArbitraryExpression[] {
  return relations[collection]
    .filter(([, , many]) => many === 'many')
    .flatMap(([relation, target]) => {
      const fields = stored[target][kind]
      const integers = stored[target].integer
      const aggregates = (functions: readonly ('sum' | 'min' | 'max' | 'avg')[], from: readonly string[]) =>
        from.length === 0
          ? []
          : [
              typed(
                fc
                  .tuple(fc.constantFrom(...functions), fc.constantFrom(...from), counted(target))
                  .map(([name, source, rows]) => ({
                    kind: 'aggregate',
                    function: name,
                    relation,
                    field: source,
                    ...rows,
                  })),
                kind,
              ),
            ]
      const sorts = fc.array(
        fc.record({ field: fc.constantFrom(...integers, ...stored[target].text), descending: fc.boolean() }),
        { maxLength: 2 },
      )
      const first = fields.map(field =>
        typed(
          fc
            .tuple(sorts, where(target))
            .map(([sort, rows]) => ({ kind: 'first', relation, field, sort, where: rows })),
          kind,
        ),
      )
      const count = typed(
        counted(target).map(rows => ({
          kind: 'aggregate',
          function: 'count',
          relation,
          field: undefined,
          ...rows,
        })),
        kind,
        false,
      )
      if (kind === 'integer') return [count, count, ...aggregates(['sum', 'min', 'max'], fields), ...first]
      if (kind === 'real') return aggregates(['avg'], integers)
      return kind === 'text' ? [...aggregates(['min', 'max'], fields), ...first] : first
    })
}

function combined(collection: Name, kind: Kind, depth: number): ArbitraryExpression[] {
  const inner = (which: Kind) => expression(collection, which, depth - 1)
  const sameKind = fc.array(inner(kind), { minLength: 1, maxLength: 3 })
  const general = [
    typed(
      sameKind.map(parts => ({ kind: 'coalesce', parts })),
      kind,
    ),
    typed(
      fc
        .tuple(rule(collection, 1), inner(kind), inner(kind))
        .map(([condition, value, otherwise]) => ({ kind: 'when', rule: condition, value, otherwise })),
      kind,
    ),
  ]
  const created: CheckedExpression = {
    kind: 'field',
    path: [],
    field: 'created_at',
    type: types.datetime,
    optional: true,
  }
  const dates = fc.oneof(fc.constant(created), inner('day'))
  if (kind === 'integer') {
    const numbers = fc.tuple(fc.constantFrom('+', '-', '*'), inner('integer'), inner('integer'))
    const part = fc.constantFrom('year', 'month', 'day', 'weekday')
    general.push(
      typed(
        numbers.map(([operator, left, right]) => ({ kind: 'arithmetic', operator, left, right })),
        kind,
      ),
      typed(
        fc.tuple(part, dates).map(([name, operand]) => ({ kind: 'datePart', part: name, of: operand })),
        kind,
      ),
      typed(
        fc.oneof(inner('real'), inner('integer')).map(of => ({ kind: 'round', of })),
        kind,
      ),
    )
  }
  if (kind === 'real') {
    const any = fc.oneof(inner('integer'), inner('real'))
    general.push(
      typed(
        fc
          .tuple(fc.constantFrom('+', '-', '*', '/'), inner('real'), any)
          .map(([operator, left, right]) => ({ kind: 'arithmetic', operator, left, right })),
        kind,
      ),
      typed(
        fc
          .tuple(inner('integer'), inner('integer'))
          .map(([left, right]) => ({ kind: 'arithmetic', operator: '/', left, right })),
        kind,
      ),
    )
  }
  if (kind === 'text') {
    const any = fc.array(fc.oneof(inner('text'), inner('integer'), inner('day')), {
      minLength: 1,
      maxLength: 3,
    })
    general.push(
      typed(
        any.map(parts => ({ kind: 'concat', parts })),
        kind,
        false,
      ),
    )
  }
  if (kind === 'day') {
    general.push(
      typed(
        dates.map(expression => ({ kind: 'datePart', part: 'date', of: expression })),
        kind,
      ),
    )
  }
  return general
}

function expression(collection: Name, kind: Kind, depth = 2): ArbitraryExpression {
  const fields = fieldsOf(collection, kind)
  const leaves = [literal(kind), ...overMany(collection, kind)]
  if (fields.length > 0) {
    leaves.push(
      typed(
        fc.constantFrom(...fields).map(field => ({ kind: 'field', ...field })),
        kind,
      ),
    )
  }
  return fc.oneof(...leaves, ...(depth === 0 ? [] : combined(collection, kind, depth)))
}

const access = (name: Name): fc.Arbitrary<Rule> =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(anyone) }, { weight: 1, arbitrary: rule(name, 1) })

function computedField(collection: Name, kind: Kind): fc.Arbitrary<ComputedField> {
  return fc.tuple(expression(collection, kind), access(collection)).map(([expression, read]) => ({
    ...field(`c_${kind}`, typeOf[kind], { optional: expression.optional, readOnly: true }),
    access: { read, write: nobody },
    expression,
  }))
}

function withComputed(model: Model, computed: readonly (readonly ComputedField[])[]): Model {
  const collections = [...model.collections.values()].map((collection, index) => ({
    ...collection,
    computed: new Map((computed[index] ?? []).map(field => [field.name, field])),
  }))
  return { ...model, collections: new Map(collections.map(collection => [collection.name, collection])) }
}

export const computedModels: fc.Arbitrary<Model> = fc
  .tuple(
    choices.map(smallModel),
    fc.tuple(...names.map(name => fc.tuple(...kinds.map(kind => computedField(name, kind))))),
  )
  .map(([model, computed]) => withComputed(model, computed))

// --- plans

const operators: Readonly<Record<Kind, readonly FilterOperator[]>> = {
  integer: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'null'],
  text: ['eq', 'ne', 'gt', 'lte', 'in', 'contains', 'null'],
  boolean: ['eq', 'ne', 'null'],
  real: ['eq', 'gt', 'gte', 'lt', 'lte', 'null'],
  day: ['eq', 'gte', 'lt', 'null'],
}

interface Comparison {
  readonly field: string
  readonly operator: FilterOperator
  readonly value: JsonValue
}

const comparisons: fc.Arbitrary<Comparison> = fc.constantFrom(...kinds).chain(kind =>
  fc.constantFrom(...operators[kind]).chain(operator => {
    const single: fc.Arbitrary<JsonValue> =
      kind === 'integer' ? fc.integer({ min: 0, max: 4 }) : literals[kind]
    const value =
      operator === 'null' ? fc.boolean() : operator === 'in' ? fc.array(single, { maxLength: 3 }) : single
    return value.map(argument => ({ field: `c_${kind}`, operator, value: argument }))
  }),
)

const fields = fc.constantFrom('id', ...kinds.map(kind => `c_${kind}`))
const sorts = fc
  .array(fc.record({ field: fields, descending: fc.boolean() }), { maxLength: 2 })
  .map(totalOrder)

const parts = fc.record({
  of: fc.constantFrom(...names),
  compared: fc.array(comparisons, { maxLength: 2 }),
  negated: fc.boolean(),
  sort: sorts,
  selected: fc.subarray(['id', ...kinds.map(kind => `c_${kind}`)]),
  nested: fc.option(fc.tuple(fc.nat(5), comparisons, sorts, fc.constantFrom(...kinds))),
  through: fc.option(fc.tuple(fc.nat(5), comparisons)),
  isCursor: fc.boolean(),
  isItem: fc.integer({ min: 0, max: 5 }).map(n => n === 0),
  id: fc.integer({ min: 1, max: 3 }),
  offset: fc.integer({ min: 0, max: 2 }),
  limit: fc.integer({ min: 1, max: 3 }),
})

/** Lists that select, filter by and sort by computed fields, of related items too. */
export const computedPlans: fc.Arbitrary<Plan<ReadShape>> = parts.map(draw => {
  const args: JsonValue[] = []
  const param = (value: JsonValue) => args.push(value) - 1
  const compare = ({ field: name, operator, value }: Comparison): Filter => ({
    kind: 'compare',
    field: name,
    operator,
    param: param(value),
  })
  const ownRelations = relations[draw.of]
  const filters: Filter[] = draw.compared.map(compare)
  const [relationIndex, beyond] = draw.through ?? []
  const through = relationIndex === undefined ? undefined : ownRelations[relationIndex % ownRelations.length]
  if (through && beyond) filters.push({ kind: 'related', relation: through[0], filter: compare(beyond) })
  const all: Filter = { kind: 'and', parts: filters }
  const select: Selected[] = draw.selected.map(name => ({ kind: 'field', key: name, field: name }))
  const [place, inner, order, kind] = draw.nested ?? []
  const nested = place === undefined ? undefined : ownRelations[place % ownRelations.length]
  if (nested && inner && order) {
    const [relation, , many] = nested
    const list = { filter: compare(inner), sort: order, limit: param(2) }
    const chosen: Selected[] = [{ kind: 'field', key: 'c', field: `c_${kind}` }]
    select.push({
      kind: 'relation',
      key: 'nested',
      relation,
      select: chosen,
      list: many === 'one' ? undefined : list,
    })
  }
  if (draw.isItem) {
    return { shape: { kind: 'item', collection: draw.of, id: param(draw.id), select }, args }
  }
  const limit = param(draw.limit)
  return {
    shape: {
      kind: 'list',
      collection: draw.of,
      within: undefined,
      filter: filters.length === 0 ? undefined : draw.negated ? { kind: 'not', part: all } : all,
      search: undefined,
      sort: draw.sort,
      window: draw.isCursor
        ? { kind: 'cursor', after: undefined, limit }
        : { kind: 'page', offset: param(draw.offset), limit, total: 'exact' },
      select,
    },
    args,
  }
})
