/** Builds simplified conditions and collects their dependencies. Equivalent conditions get equal forms where that is cheap. */
import { type Folding, fold, type Predicate } from '../../base/predicate.ts'
import type {
  Computation,
  Condition,
  FieldPath,
  Operand,
  RelationPath,
  VisibleField,
} from './guarded-conditions.ts'

export const always: Condition = Object.freeze({ kind: 'always' })
export const never: Condition = Object.freeze({ kind: 'never' })

/** All conditions hold. Flat, without duplicates. */
export function and(...conditions: readonly Condition[]): Condition {
  const effective = gather(conditions, 'and')
  if (effective === undefined) return never
  if (effective.length > 1) return { kind: 'and', parts: effective }
  return effective[0] ?? always
}

/** At least one condition holds. Flat, without duplicates. */
export function or(...conditions: readonly Condition[]): Condition {
  const effective = gather(conditions, 'or')
  if (effective === undefined) return always
  if (effective.length > 1) return { kind: 'or', parts: effective }
  return effective[0] ?? never
}

export function not(condition: Condition): Condition {
  if (condition.kind === 'always') return never
  if (condition.kind === 'never') return always
  if (condition.kind === 'not') return condition.part
  return { kind: 'not', part: condition }
}

/** The condition that a rule, a filter or another condition becomes, by what its leaves become. */
export function translate<Leaf extends { readonly kind: string }>(
  predicate: Predicate<Leaf>,
  leaf: Folding<Leaf, Condition>['leaf'],
  negated = false,
): Condition {
  return fold(predicate, { and: allOf, or: anyOf, not, leaf }, negated)
}

const allOf = (parts: readonly Condition[]) => and(...parts)
const anyOf = (parts: readonly Condition[]) => or(...parts)

/** `condition`, simplified for rows that fulfil `assumption`. */
export function assuming(assumption: Condition, condition: Condition): Condition {
  if (condition.kind === 'always' || condition.kind === 'never') return condition
  const assumedKeys = new Set(parts(assumption, 'and').map(conditionKey))
  if (assumedKeys.has(conditionKey(condition))) return always
  if (parts(condition, 'or').some(part => assumedKeys.has(conditionKey(part)))) return always
  return and(...parts(condition, 'and').filter(part => !assumedKeys.has(conditionKey(part))))
}

/** The parts that have an effect, in order of first appearance; undefined when one part decides the result. */
function gather(conditions: readonly Condition[], kind: 'and' | 'or'): Condition[] | undefined {
  const neutral = kind === 'and' ? 'always' : 'never'
  const deciding = kind === 'and' ? 'never' : 'always'
  const partsByKey = new Map<string, Condition>()
  for (const part of conditions.flatMap(condition => parts(condition, kind))) {
    if (part.kind === deciding) return undefined
    if (part.kind === neutral) continue
    partsByKey.set(conditionKey(part), part)
  }
  return absorb(partsByKey, kind === 'and' ? 'or' : 'and')
}

/** `a and (a or b)` is `a`; `a or (a and b)` too. */
function absorb(partsByKey: ReadonlyMap<string, Condition>, inner: 'and' | 'or'): Condition[] {
  return [...partsByKey.values()].filter(
    part =>
      part.kind !== inner || !parts(part, inner).some(innerPart => partsByKey.has(conditionKey(innerPart))),
  )
}

function parts(condition: Condition, kind: 'and' | 'or'): readonly Condition[] {
  return condition.kind === kind ? condition.parts : [condition]
}

/** Equal for conditions of the same form over rows of one collection. */
export function conditionKey(condition: Condition): string {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return condition.kind
    case 'compare':
      return `${condition.operator}(${fieldKey(condition.field)},${operandKey(condition.operand)})`
    case 'values':
      return `${condition.operator}(${computationKey(condition.left)},${computationKey(condition.right)})`
    case 'fields':
      return `${condition.operator}(${fieldPathKey(condition.left)},${fieldPathKey(condition.right)})`
    case 'isNull':
      return `null(${fieldKey(condition.field)})`
    case 'nullness':
      return `null(${fieldKey(condition.field)},$${condition.param})`
    case 'related':
      return `${condition.stored ? 'stored' : 'related'}(${pathKey(condition.path)},${conditionKey(condition.rows)})`
    case 'search':
      return `search(${condition.fields.map(field => field.name)},$${condition.param})`
    case 'fact':
      return `fact(${condition.key},${condition.holds},$${condition.facts})`
    case 'not':
      return `not(${conditionKey(condition.part)})`
    default:
      return `${condition.kind}(${condition.parts.map(conditionKey)})`
  }
}

function fieldKey({ field, when }: VisibleField): string {
  return when.kind === 'always' ? field.name : `${field.name}?${conditionKey(when)}`
}

/** Unambiguous: no field's name contains a colon. */
function fieldPathKey({ steps, field }: FieldPath): string {
  return [...steps.map(({ relation }) => relation.name), `:${field.name}`].join('.')
}

function operandKey(operand: Operand): string {
  switch (operand.kind) {
    case 'param':
      return `$${operand.param}`
    case 'userId':
      return '@'
    case 'appId':
      return '@app'
    case 'now':
      return operand.at === undefined ? `now${operand.shiftMs}` : `now${operand.shiftMs}@$${operand.at}`
    case 'caller':
      return operand.when ? `@${operand.field.name}?${conditionKey(operand.when)}` : `@${operand.field.name}`
    case 'claim':
      return `claim${JSON.stringify(operand.claim)}`
    case 'literal':
      return JSON.stringify(operand.value)
  }
}

/** The field's name is enough: within one access class, all rules see the same of a field. */
function computationKey(computation: Computation): string {
  if (computation.kind === 'column') return fieldKey(computation.field)
  if (computation.kind !== 'related') throw new TypeError('rules compare fields')
  return `${pathKey(computation.path)}.${computationKey(computation.value)}`
}

function pathKey(path: RelationPath): string {
  const { relation, target } = path
  const joined = 'joinRows' in path ? `?${conditionKey(path.joinRows)}` : ''
  return `${relation.kind}:${relation.name}(${columnsOf(path)})>${target.name}${joined}`
}

/** Where the ids are that the path follows. */
function columnsOf({ relation }: RelationPath): string {
  return relation.kind === 'manyToMany'
    ? `${relation.through}:${relation.from},${relation.to}`
    : relation.field
}

/** What a condition depends on. */
export interface Dependencies {
  /** Fields of the row itself. */
  readonly fields: Set<string>
  /** Collections reached through relations; the row's own may be among them. */
  readonly collections: Set<string>
  userId: boolean
  /** Whether it depends on the time, on claims, on the caller's app, or on a confirmed address: see `GuardedReadBase`. */
  volatile: boolean
  /** Whether it contains a field that is computed from all rows of a list of unbounded length. */
  readsUnboundedLists: boolean
}

export function noDependencies(): Dependencies {
  return {
    fields: new Set(),
    collections: new Set(),
    userId: false,
    volatile: false,
    readsUnboundedLists: false,
  }
}

/** Adds the dependencies of `condition`. */
export function addCondition(condition: Condition, dependencies: Dependencies): Dependencies {
  switch (condition.kind) {
    case 'always':
    case 'never':
    case 'fact':
      return dependencies
    case 'compare':
      addOperand(condition.operand, dependencies)
      return addField(condition.field, dependencies)
    case 'fields':
      addFieldPath(condition.left, dependencies)
      return addFieldPath(condition.right, dependencies)
    case 'values':
      addComputation(condition.left, dependencies)
      addComputation(condition.right, dependencies)
      return dependencies
    case 'isNull':
    case 'nullness':
      return addField(condition.field, dependencies)
    case 'related':
      return addPath(condition.path, [condition.rows], dependencies)
    case 'search':
      for (const field of condition.fields) dependencies.fields.add(field.name)
      return dependencies
    case 'not':
      return addCondition(condition.part, dependencies)
    default:
      for (const part of condition.parts) addCondition(part, dependencies)
      return dependencies
  }
}

function addOperand(operand: Operand, dependencies: Dependencies): void {
  if (operand.kind === 'userId') dependencies.userId = true
  const isNow = operand.kind === 'now' && operand.at === undefined
  if (isNow || operand.kind === 'claim' || operand.kind === 'appId') dependencies.volatile = true
  if (operand.kind !== 'caller') return
  dependencies.userId = true
  dependencies.collections.add(operand.users.name)
  if (operand.isConfirmed) dependencies.volatile = true
  if (operand.when) addOtherRows(addCondition(operand.when, noDependencies()), dependencies)
}

function addFieldPath({ steps, field }: FieldPath, dependencies: Dependencies): Dependencies {
  dependencies.fields.add(steps[0]?.relation.field ?? field.name)
  for (const { target } of steps) dependencies.collections.add(target.name)
  return dependencies
}

export function addField(
  { field, when, computation, isStored }: VisibleField,
  dependencies: Dependencies,
): Dependencies {
  // The writes of the related rows change a stored value, and not those of its own collection.
  if (isStored && computation?.kind === 'aggregate')
    dependencies.collections.add(computation.path.target.name)
  else if (computation) addComputation(computation, dependencies)
  else dependencies.fields.add(field.name)
  return addCondition(when, dependencies)
}

/** Whether the field has the value of its column in every row, so that an index on the column has its order. */
export function isColumn({ when, computation, isStored }: VisibleField): boolean {
  return when.kind === 'always' && (computation === undefined || isStored === true)
}

function addComputation(computation: Computation, dependencies: Dependencies): void {
  switch (computation.kind) {
    case 'literal':
      return
    case 'column':
      addField(computation.field, dependencies)
      return
    case 'related':
      addCondition(computation.when, dependencies)
      addRelatedRows(computation, related => addComputation(computation.value, related), dependencies)
      return
    case 'aggregate': {
      const { field } = computation
      dependencies.readsUnboundedLists = true
      addRelatedRows(computation, related => field && addField(field, related), dependencies)
      return
    }
    case 'first': {
      dependencies.readsUnboundedLists = true
      const fields = [computation.field, ...computation.sort.map(({ field }) => field)]
      addRelatedRows(
        computation,
        related => fields.forEach(field => void addField(field, related)),
        dependencies,
      )
      return
    }
    case 'when':
      addCondition(computation.condition, dependencies)
      addComputation(computation.value, dependencies)
      addComputation(computation.otherwise, dependencies)
      return
    case 'arithmetic':
      addComputation(computation.left, dependencies)
      addComputation(computation.right, dependencies)
      return
    case 'datePart':
    case 'round':
      addComputation(computation.of, dependencies)
      return
    default:
      for (const part of computation.parts) addComputation(part, dependencies)
  }
}

/** Adds the dependencies of following a path, and those that `addRelated` collects from the rows at its end. */
function addRelatedRows(
  { path, rows }: { readonly path: RelationPath; readonly rows: Condition },
  addRelated: (related: Dependencies) => void,
  dependencies: Dependencies,
): void {
  addPath(path, [rows], dependencies)
  const related = noDependencies()
  addRelated(related)
  addOtherRows(related, dependencies)
}

/** Adds the dependencies of following `path`, and of the conditions over the rows at its end. */
export function addPath(
  path: RelationPath,
  rows: readonly Condition[],
  dependencies: Dependencies,
): Dependencies {
  const related = noDependencies()
  related.collections.add(path.target.name)
  if ('through' in path) {
    related.collections.add(path.through.name)
    addCondition(path.joinRows, related)
  }
  for (const condition of rows) addCondition(condition, related)
  if (path.relation.kind === 'one') dependencies.fields.add(path.relation.field)
  return addOtherRows(related, dependencies)
}

/** Adds the dependencies of other rows, without their fields, which are not fields of this row. */
export function addOtherRows(others: Dependencies, dependencies: Dependencies): Dependencies {
  for (const name of others.collections) dependencies.collections.add(name)
  dependencies.userId ||= others.userId
  dependencies.volatile ||= others.volatile
  dependencies.readsUnboundedLists ||= others.readsUnboundedLists
  return dependencies
}
