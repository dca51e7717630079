/** Random rules, rows, callers and plans over the small model, for property tests. */

import fc from 'fast-check'
import { anonymous, app, type Principal, system, user } from '../../../src/base/principal.ts'
import { type TotalOrder, totalOrder } from '../../../src/engine/plan/order.ts'
import type {
  Assignment,
  Filter,
  Plan,
  ReadShape,
  Selected,
  WriteShape,
} from '../../../src/engine/plan/plan.ts'
import type { FilterOperator, JsonValue } from '../../../src/model/fields/type.ts'
import type { CollectionAccess, Field, Model } from '../../../src/model/model.ts'
import type { Comparison, Rule, RuleOperand } from '../../../src/model/rule/rule.ts'
import { declaredModel } from './declared-model.ts'
import type { Data, Row } from './reference.ts'
import { requestTime, requestTimeMs } from './reference.ts'
import { type Choices, smallModel } from './small-model.ts'

export const names = ['users', 'posts', 'tags', 'post_tags'] as const
export type Name = (typeof names)[number]

export const relations: Readonly<Record<Name, readonly (readonly [string, Name, 'one' | 'many'])[]>> = {
  users: [
    ['boss', 'users', 'one'],
    ['reports', 'users', 'many'],
    ['posts', 'posts', 'many'],
  ],
  posts: [
    ['author', 'users', 'one'],
    ['tags', 'tags', 'many'],
    ['post_tags', 'post_tags', 'many'],
  ],
  tags: [['posts', 'posts', 'many']],
  post_tags: [
    ['post', 'posts', 'one'],
    ['tag', 'tags', 'one'],
  ],
}

const declared: Readonly<Record<Name, readonly string[]>> = {
  users: ['name', 'level', 'boss_id'],
  posts: ['title', 'note', 'rank', 'public', 'extra', 'pin', 'author_id'],
  tags: ['label'],
  post_tags: ['post_id', 'tag_id'],
}

/** Fields with values that a rule or a filter can compare. */
const comparable: Readonly<Record<Name, readonly string[]>> = {
  users: ['id', 'name', 'level', 'boss_id'],
  posts: ['id', 'title', 'note', 'rank', 'public', 'author_id'],
  tags: ['id', 'label'],
  post_tags: ['id', 'post_id', 'tag_id'],
}

export const texts = fc.constantFrom('a', 'b', 'ab', 'AB', 'a b', '[a*', 'é', 'É', '\u{1F600}', '\uFFFD')
const searches = fc.constantFrom('a', 'B', 'b  a', 'É', 'ab', 'x', 'a x', '\u{1F600}', '"a" OR b*')
const ids = fc.integer({ min: 1, max: 4 })

const leaf = fc.constantFrom<JsonValue>(1, 2, null, 'a', [1, null])
/** Few keys, so that patches affect stored members. */
const objects: fc.Arbitrary<JsonValue> = fc.dictionary(
  fc.constantFrom('a', 'b', '__proto__'),
  fc.oneof(leaf, fc.dictionary(fc.constantFrom('a', 'b'), leaf, { maxKeys: 2, noNullPrototype: true })),
  { maxKeys: 2, noNullPrototype: true },
)
const documents: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 4, arbitrary: objects },
  { weight: 1, arbitrary: fc.constantFrom<JsonValue>([1], 'a', false) },
)

function value(name: 'extra'): fc.Arbitrary<JsonValue>
function value(name: string): fc.Arbitrary<string | number | boolean>
function value(name: string): fc.Arbitrary<JsonValue> {
  if (['name', 'title', 'note', 'label', 'pin', 'password_hash'].includes(name)) return texts
  if (name === 'extra') return documents
  if (name === 'public') return fc.boolean()
  return name === 'id' || name.endsWith('_id') ? ids : fc.integer({ min: 0, max: 3 })
}

// --- rules

const constantRule: fc.Arbitrary<Rule> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Rule>({ kind: 'anyone' }) },
  { weight: 2, arbitrary: fc.constant<Rule>({ kind: 'signedIn' }) },
  { weight: 1, arbitrary: fc.constant<Rule>({ kind: 'nobody' }) },
  { weight: 2, arbitrary: fc.constant<Rule>({ kind: 'role', roles: ['admin'] }) },
  { weight: 1, arbitrary: fc.constant<Rule>({ kind: 'scope', scope: 'read:tag' }) },
  { weight: 1, arbitrary: fc.constant<Rule>({ kind: 'firstParty' }) },
)

const equalities: readonly Comparison[] = ['eq', 'ne']
const unordered = (field: string) => field === 'public' || field.endsWith('_id')
const comparisons: readonly Comparison[] = ['eq', 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in']

/** Fields with the id of a user. */
const owners: Readonly<Record<Name, readonly string[]>> = {
  users: ['id', 'boss_id'],
  posts: ['author_id'],
  tags: [],
  post_tags: [],
}

function comparison(name: Name): fc.Arbitrary<Rule> {
  const ownRules = fc
    .tuple(
      fc.constantFrom(...(owners[name].length > 0 ? owners[name] : ['id'])),
      fc.constantFrom<Comparison>('eq', 'eq', 'ne'),
    )
    .map(([field, how]): Rule => ({ kind: 'compare', field, comparison: how, operand: { kind: 'userId' } }))
  const literal = fc.constantFrom(...comparable[name]).chain(field =>
    fc.constantFrom<Comparison>(...(unordered(field) ? equalities : comparisons)).chain(how => {
      const literal = how === 'eq' || how === 'ne' ? fc.option(value(field), { freq: 4 }) : value(field)
      const operands = how === 'in' ? fc.array(value(field), { minLength: 1, maxLength: 3 }) : literal
      return operands.map(
        (operand): Rule => ({
          kind: 'compare',
          field,
          comparison: how,
          operand: { kind: 'literal', value: operand },
        }),
      )
    }),
  )
  const otherComparisons = otherComparison(name)
  return owners[name].length > 0
    ? fc.oneof(ownRules, literal, otherComparisons)
    : fc.oneof(literal, otherComparisons)
}

type Kind = 'number' | 'text' | 'user' | 'boolean' | 'time'

/** Fields, and paths along to-one relations, with values of one kind. */
const paths: Readonly<Record<Name, Partial<Record<Kind, readonly string[]>>>> = {
  users: {
    number: ['level', 'boss.level', 'boss.boss.level'],
    text: ['name', 'boss.name'],
    user: ['id', 'boss_id', 'boss.boss_id'],
    time: ['created_at', 'boss.created_at'],
  },
  posts: {
    number: ['rank', 'author.level', 'author.boss.level'],
    text: ['title', 'note', 'author.name'],
    user: ['author_id', 'author.id', 'author.boss_id'],
    boolean: ['public'],
    time: ['created_at', 'author.created_at'],
  },
  tags: { text: ['label'], time: ['created_at'] },
  post_tags: {
    number: ['post.rank', 'post.author.level'],
    text: ['post.note', 'tag.label'],
    user: ['post.author_id', 'post.author.boss_id'],
    boolean: ['post.public'],
    time: ['created_at', 'post.created_at'],
  },
}

const callerFields: Partial<Record<Kind, readonly string[]>> = {
  number: ['level'],
  text: ['name'],
  user: ['boss_id', 'id'],
  time: ['created_at'],
}

const orders: readonly Comparison[] = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte']

/** Comparisons with other fields, fields of the caller, the caller's app, claims and the time, and of paths with literals. */
function otherComparison(collection: Name): fc.Arbitrary<Rule> {
  return fc.constantFrom(...(Object.keys(paths[collection]) as Kind[])).chain(kind => {
    const field = fc.constantFrom(...(paths[collection][kind] ?? []))
    const equal = fc.constantFrom(...equalities)
    const among: fc.Arbitrary<Rule>[] = [
      fc
        .tuple(field, kind === 'boolean' ? equal : fc.constantFrom(...orders), field)
        .map(([operand, how, right]) => compareRule(operand, how, { kind: 'field', field: right })),
      fc.tuple(field, equal).map(([left, how]) => compareRule(left, how, { kind: 'literal', value: null })),
    ]
    const callerField = callerFields[kind]
    if (callerField) {
      among.push(
        fc
          .tuple(field, equal, fc.constantFrom(...callerField))
          .map(([left, how, name]) => compareRule(left, how, { kind: 'caller', field: name })),
      )
    }
    if (kind === 'user') {
      among.push(fc.tuple(field, equal).map(([left, how]) => compareRule(left, how, { kind: 'appId' })))
    }
    if (kind === 'time') {
      const shifts = fc.constantFrom(-3_600_000, -1, 0, 3_600_000)
      among.push(
        fc
          .tuple(field, fc.constantFrom(...orders), shifts)
          .map(([left, how, shiftMs]) => compareRule(left, how, { kind: 'now', shiftMs })),
      )
    } else {
      const claims = fc.constantFrom('number', 'text', 'boolean', 'missing')
      among.push(
        fc
          .tuple(field, equal, claims)
          .map(([left, how, claim]) => compareRule(left, how, { kind: 'claim', claim })),
        fc
          .tuple(field, equal, kind === 'text' ? texts : kind === 'boolean' ? fc.boolean() : ids)
          .map(([left, how, value]) => compareRule(left, how, { kind: 'literal', value })),
      )
    }
    const any = fc.oneof(...among)
    // Null matters under `not`.
    return fc.oneof(
      any,
      any.map((rule): Rule => ({ kind: 'not', part: rule })),
    )
  })
}

function compareRule(field: string, comparison: Comparison, operand: RuleOperand): Rule {
  return { kind: 'compare', field, comparison, operand }
}

export function rule(name: Name, depth = 2): fc.Arbitrary<Rule> {
  if (depth === 0) return fc.oneof(constantRule, comparison(name))
  const inner = rule(name, depth - 1)
  const several = fc.array(inner, { minLength: 1, maxLength: 3 })
  return fc.oneof(
    { weight: 4, arbitrary: constantRule },
    { weight: 4, arbitrary: comparison(name) },
    { weight: 2, arbitrary: several.map((rules): Rule => ({ kind: 'or', parts: rules })) },
    { weight: 1, arbitrary: several.map((rules): Rule => ({ kind: 'and', parts: rules })) },
    { weight: 1, arbitrary: inner.map((rule): Rule => ({ kind: 'not', part: rule })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(...relations[name])
        .chain(([relation, target]) =>
          rule(target, depth - 1).map((rule): Rule => ({ kind: 'related', relation, rule })),
        ),
    },
  )
}

/** Mostly open, so that most plans are allowed. */
function kindRule(name: Name): fc.Arbitrary<Rule> {
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant<Rule>({ kind: 'anyone' }) },
    { weight: 3, arbitrary: rule(name) },
  )
}

const access = (name: Name): fc.Arbitrary<CollectionAccess> =>
  fc.record({ read: kindRule(name), create: kindRule(name), update: kindRule(name), delete: kindRule(name) })

const searchables = ['title', 'note', 'label', 'name']

function fieldChoice(collection: Name, name: string): fc.Arbitrary<Partial<Field>> {
  const rules = fc.record({ read: kindRule(collection), write: kindRule(collection) })
  const seldom = fc.integer({ min: 0, max: 9 }).map(n => n === 0)
  const searchable = searchables.includes(name) ? fc.boolean() : fc.constant(false)
  const parts = { access: rules, readOnly: seldom, immutable: seldom, searchable, open: constantRule }
  return fc.record(parts).map(choice => ({
    // A model may not have a searchable field that is hidden in some rows.
    access: choice.searchable ? { ...choice.access, read: choice.open } : choice.access,
    searchable: choice.searchable,
    ...(name === 'title' ? {} : { readOnly: choice.readOnly }),
    immutable: choice.immutable,
    ...(name === 'author_id' ? { default: { kind: 'currentUser' as const } } : {}),
    ...(name === 'note' ? { default: { kind: 'value' as const, value: 'new' } } : {}),
    ...(name === 'name' ? { readOnly: false } : {}),
  }))
}

export const choices: fc.Arbitrary<Choices> = fc.record({
  access: fc.record(Object.fromEntries(names.map(name => [name, access(name)]))),
  fields: fc.record(
    Object.fromEntries(
      names.flatMap(name => declared[name].map(field => [`${name}.${field}`, fieldChoice(name, field)])),
    ),
  ),
})

/** Models built directly, and models declared and checked. */
export const models: fc.Arbitrary<Model> = fc.oneof(choices.map(smallModel), choices.map(declaredModel))

// --- rows

const perhaps = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { freq: 4 })

function table(columns: Readonly<Record<string, fc.Arbitrary<JsonValue>>>): fc.Arbitrary<Row[]> {
  return fc
    .array(fc.record(columns), { minLength: 2, maxLength: 5 })
    .map(rows => rows.map((row, i) => ({ id: i + 1, created_at: requestTime, ...row })))
}

/** An hour before every request, at its time, and an hour after. */
const times = fc.constantFrom(-3_600_000, 0, 1).map(shift => new Date(requestTimeMs + shift).toISOString())

/** References point to existing rows. */
export const datas: fc.Arbitrary<Data> = fc
  .record({
    users: table({
      name: texts,
      level: perhaps(fc.integer({ min: 0, max: 3 })),
      boss_id: perhaps(ids),
      password_hash: texts,
      created_at: times,
    }),
    posts: table({
      title: texts,
      note: perhaps(texts),
      rank: perhaps(fc.integer({ min: 0, max: 3 })),
      public: perhaps(fc.boolean()),
      extra: perhaps(documents),
      pin: perhaps(texts),
      author_id: perhaps(ids),
      created_at: times,
    }),
    tags: table({ label: perhaps(texts) }),
    post_tags: table({ post_id: perhaps(ids), tag_id: perhaps(ids) }),
  })
  .map(withValidReferences)

function withValidReferences(data: Record<Name, Row[]>): Data {
  const within = (row: Row, field: string, target: Name) => {
    const id = row[field]
    return typeof id === 'number' && id > data[target].length ? null : (id ?? null)
  }
  return {
    users: data.users.map(row => ({ ...row, boss_id: within(row, 'boss_id', 'users') })),
    posts: data.posts.map(row => ({ ...row, author_id: within(row, 'author_id', 'users') })),
    tags: data.tags,
    post_tags: data.post_tags.map(row => ({
      ...row,
      post_id: within(row, 'post_id', 'posts'),
      tag_id: within(row, 'tag_id', 'tags'),
    })),
  }
}

// --- callers

const scopeSets = fc
  .subarray(names.flatMap(name => [`read:${name.replace(/s$/, '')}`, `write:${name.replace(/s$/, '')}`]))
  .map(scopes => new Set(scopes))

const claimed = fc
  .record({
    number: fc.oneof<fc.Arbitrary<string | number | boolean>[]>(ids, fc.constantFrom(1.5, '1', true)),
    text: texts,
    boolean: fc.boolean(),
  })
  .map(claims => ({ key: JSON.stringify(claims), values: new Map(Object.entries(claims)) }))

const throughApp = (id: number) => ({ app: { id, name: 'An app' }, grant: null, thirdParty: true })

export const principals: fc.Arbitrary<Principal> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 3 }), claimed)
      .map(([id, claims]) => ({ ...user(id, 'user', 'all'), claims })),
  },
  { weight: 2, arbitrary: fc.constant(anonymous('192.0.2.1')) },
  {
    weight: 6,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 3 }), fc.constantFrom('user', 'user', 'admin'))
      .map(([id, role]) => user(id, role, 'all')),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.integer({ min: 1, max: 2 }), scopeSets, ids)
      .map(([id, scopes, appId]) => user(id, 'user', scopes, undefined, undefined, throughApp(appId))),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(scopeSets, fc.option(ids.map(throughApp), { nil: undefined }))
      .map(([scopes, delegate]) => app('an-app', scopes, delegate)),
  },
  { weight: 1, arbitrary: fc.constant(system) },
)

// --- plans: drafted with their arguments, then numbered

interface Draft<T> {
  readonly make: (param: (value: JsonValue) => number) => T
}

const draftOf = <T>(make: Draft<T>['make']): Draft<T> => ({ make })

/** Mostly known fields, sometimes one that is hidden from all or unknown. */
function fieldName(name: Name): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 30, arbitrary: fc.constantFrom('id', ...comparable[name]) },
    { weight: 1, arbitrary: fc.constantFrom('nothing', 'password_hash', 'pin', 'extra', '__proto__') },
  )
}

const operators: readonly FilterOperator[] = [
  ...(['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'contains', 'icontains', 'starts_with', 'null'] as const),
]

function filter(name: Name, depth = 2): fc.Arbitrary<Draft<Filter>> {
  const compare = fieldName(name).chain(field =>
    fc
      .constantFrom<FilterOperator>(...(field === 'public' ? (['eq', 'ne', 'null'] as const) : operators))
      .chain(operator => {
        const argument: fc.Arbitrary<JsonValue> =
          operator === 'null'
            ? fc.boolean()
            : operator === 'in'
              ? fc.array(value(field), { maxLength: 3 })
              : value(field)
        return argument.map(value =>
          draftOf((param): Filter => ({ kind: 'compare', field, operator, param: param(value) })),
        )
      }),
  )
  if (depth === 0) return compare
  const inner = filter(name, depth - 1)
  const several = fc.array(inner, { minLength: 1, maxLength: 2 })
  return fc.oneof(
    { weight: 4, arbitrary: compare },
    {
      weight: 1,
      arbitrary: inner.map(operand =>
        draftOf((param): Filter => ({ kind: 'not', part: operand.make(param) })),
      ),
    },
    {
      weight: 2,
      arbitrary: fc
        .tuple(fc.constantFrom('and' as const, 'or' as const), several)
        .map(([kind, all]) =>
          draftOf((param): Filter => ({ kind, parts: all.map(operand => operand.make(param)) })),
        ),
    },
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(...relations[name])
        .chain(([relation, target]) =>
          filter(target, depth - 1).map(operand =>
            draftOf((param): Filter => ({ kind: 'related', relation, filter: operand.make(param) })),
          ),
        ),
    },
  )
}

function sort(name: Name): fc.Arbitrary<TotalOrder> {
  const fields = fc.array(fc.record({ field: fieldName(name), descending: fc.boolean() }), { maxLength: 2 })
  return fc.oneof(
    { weight: 9, arbitrary: fields.map(totalOrder) },
    { weight: 1, arbitrary: fc.constant(byRank) },
  )
}

const byRank = totalOrder([{ field: 'q', descending: true }])

function select(name: Name, depth = 2): fc.Arbitrary<Draft<readonly Selected[]>> {
  const plain = fieldName(name).map(field => draftOf((): Selected => ({ kind: 'field', key: '', field })))
  const single =
    depth === 0
      ? plain
      : fc.oneof({ weight: 3, arbitrary: plain }, { weight: 1, arbitrary: related(name, depth) })
  return fc
    .array(single, { maxLength: 4 })
    .map(all =>
      draftOf(param => all.map((selection, i): Selected => ({ ...selection.make(param), key: `k${i}` }))),
    )
}

function related(name: Name, depth: number): fc.Arbitrary<Draft<Selected>> {
  return fc.constantFrom(...relations[name]).chain(([relation, target, many]) =>
    fc
      .tuple(
        select(target, depth - 1),
        fc.option(filter(target, 1)),
        sort(target),
        fc.integer({ min: 1, max: 3 }),
      )
      .map(([inner, filter, keys, limit]) =>
        draftOf(
          (param): Selected => ({
            kind: 'relation',
            key: '',
            relation,
            select: inner.make(param),
            list:
              many === 'one' ? undefined : { filter: filter?.make(param), sort: keys, limit: param(limit) },
          }),
        ),
      ),
  )
}

function numberArguments<T extends ReadShape | WriteShape>(draft: Draft<T>): Plan<T> {
  const args: JsonValue[] = []
  const shape = draft.make(value => args.push(value) - 1)
  return { shape, args }
}

const itemPlans = fc.constantFrom(...names).chain(name =>
  fc.tuple(fc.integer({ min: 1, max: 6 }), select(name)).map(([id, chosen]) =>
    draftOf(
      (param): ReadShape => ({
        kind: 'item',
        collection: name,
        id: param(id),
        select: chosen.make(param),
      }),
    ),
  ),
)

type Parent = readonly [parent: Name, relation: string] | undefined

const parents = (name: Name): Parent[] =>
  names.flatMap(parent =>
    relations[parent]
      .filter(([, target, many]) => target === name && many === 'many')
      .map(([relation]) => [parent, relation] as const),
  )

const listPlans = fc.constantFrom(...names).chain(name =>
  fc
    .record({
      parent: fc.constantFrom(undefined, undefined, ...parents(name)),
      id: ids,
      filter: fc.option(filter(name)),
      search: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: searches }),
      sort: sort(name),
      ranked: fc.boolean(),
      select: select(name),
      offset: fc.integer({ min: 0, max: 3 }),
      limit: fc.integer({ min: 1, max: 3 }),
      window: fc.constantFrom('exact', 'estimate', 'none', 'cursor'),
    })
    .map(draft =>
      draftOf(
        (param): ReadShape => ({
          kind: 'list',
          collection: name,
          within: draft.parent && {
            collection: draft.parent[0],
            relation: draft.parent[1],
            id: param(draft.id),
          },
          filter: draft.filter?.make(param),
          search: draft.search === null ? undefined : param(draft.search),
          sort: draft.search !== null && draft.ranked ? byRank : draft.sort,
          window:
            draft.window === 'cursor'
              ? { kind: 'cursor', after: undefined, limit: param(draft.limit) }
              : {
                  kind: 'page',
                  offset: param(draft.offset),
                  limit: param(draft.limit),
                  total: draft.window,
                },
          select: draft.select.make(param),
        }),
      ),
    ),
)

export const readPlans: fc.Arbitrary<Plan<ReadShape>> = fc
  .oneof({ weight: 1, arbitrary: itemPlans }, { weight: 4, arbitrary: listPlans })
  .map(numberArguments)

function assignments(collection: Name): fc.Arbitrary<Draft<Assignment[]>> {
  const candidates = [...declared[collection], 'id', 'password_hash', 'nothing']
  const weights = candidates.map(name => ({
    weight: declared[collection].includes(name) ? 12 : 1,
    arbitrary: fc.constant(name),
  }))
  return fc
    .uniqueArray(fc.oneof(...weights), { maxLength: 7 })
    .chain(chosen => fc.tuple(...chosen.map(name => value(name).map(value => [name, value] as const))))
    .map(pairs => draftOf(param => pairs.map(([field, value]) => ({ field, param: param(value) }))))
}

const required: Readonly<Record<Name, readonly string[]>> = {
  users: ['name'],
  posts: ['title'],
  tags: [],
  post_tags: [],
}

/** A placeholder for the current entity tag of the item, which is unknown until there is data. */
export const currentTag = 'current'

const matches = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<JsonValue>('*', [], ['"other"'], [currentTag], ['"other"', currentTag]),
  },
)

export const writePlans: fc.Arbitrary<Plan<WriteShape>> = fc.constantFrom(...names).chain(collection =>
  fc
    .record({
      kind: fc.constantFrom('create', 'update', 'replace', 'delete'),
      id: fc.integer({ min: 1, max: 5 }),
      set: assignments(collection),
      documents: fc.constantFrom<'merge' | 'replace' | undefined>('merge', 'replace', undefined),
      ifMatch: matches,
      complete: fc.integer({ min: 0, max: 5 }).map(n => n > 0),
    })
    .map(draft =>
      numberArguments(
        draftOf((param): WriteShape => {
          const ifMatch = draft.ifMatch === null ? undefined : param(draft.ifMatch)
          if (draft.kind === 'delete') return { kind: 'delete', collection, id: param(draft.id), ifMatch }
          const chosen = draft.set.make(param)
          const missing = required[collection].filter(
            name => draft.complete && !chosen.some(assignment => assignment.field === name),
          )
          const set = [...chosen, ...missing.map(field => ({ field, param: param('a') }))]
          if (draft.kind === 'create') return { kind: 'create', collection, set, computed: [], select: [] }
          const mode = draft.kind === 'replace' ? 'replace' : 'merge'
          return {
            kind: 'update',
            mode,
            collection,
            id: param(draft.id),
            set,
            ...(draft.documents && { documents: draft.documents }),
            ifMatch,
            select: [],
          }
        }),
      ),
    ),
)
