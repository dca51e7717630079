/** Builds simplified conditions, and finds what they depend on. Equivalent conditions get equal forms where that is cheap. */
import type { Computation, Condition, FieldPath, Operand, Path, VisibleField } from './guarded.ts'

export const always: Condition = Object.freeze({ kind: 'always' })
export const never: Condition = Object.freeze({ kind: 'never' })

/** All conditions hold. Flat, without duplicates. */
export function and(...conditions: readonly Condition[]): Condition {
  const kept = gather(conditions, 'and')
  if (kept === undefined) return never
  if (kept.length > 1) return { kind: 'and', conditions: kept }
  return kept[0] ?? always
}

/** At least one condition holds. Flat, without duplicates. */
export function or(...conditions: readonly Condition[]): Condition {
  const kept = gather(conditions, 'or')
  if (kept === undefined) return always
  if (kept.length > 1) return { kind: 'or', conditions: kept }
  return kept[0] ?? never
}

export function not(condition: Condition): Condition {
  if (condition.kind === 'always') return never
  if (condition.kind === 'never') return always
  if (condition.kind === 'not') return condition.condition
  return { kind: 'not', condition }
}

/** `condition`, simplified for rows that are known to fulfil `known`. */
export function assuming(known: Condition, condition: Condition): Condition {
  if (condition.kind === 'always' || condition.kind === 'never') return condition
  const certain = new Set(parts(known, 'and').map(conditionKey))
  if (certain.has(conditionKey(condition))) return always
  if (parts(condition, 'or').some(part => certain.has(conditionKey(part)))) return always
  return and(...parts(condition, 'and').filter(part => !certain.has(conditionKey(part))))
}

/** The parts that have an effect, in order of first appearance; undefined when one part decides the result. */
function gather(conditions: readonly Condition[], kind: 'and' | 'or'): Condition[] | undefined {
  const neutral = kind === 'and' ? 'always' : 'never'
  const settling = kind === 'and' ? 'never' : 'always'
  const kept = new Map<string, Condition>()
  for (const part of conditions.flatMap(condition => parts(condition, kind))) {
    if (part.kind === settling) return undefined
    if (part.kind === neutral) continue
    kept.set(conditionKey(part), part)
  }
  return absorb(kept, kind === 'and' ? 'or' : 'and')
}

/** `a and (a or b)` is `a`; `a or (a and b)` too. */
function absorb(kept: ReadonlyMap<string, Condition>, inner: 'and' | 'or'): Condition[] {
  return [...kept.values()].filter(
    part => part.kind !== inner || !parts(part, inner).some(one => kept.has(conditionKey(one))),
  )
}

function parts(condition: Condition, kind: 'and' | 'or'): readonly Condition[] {
  return condition.kind === kind ? condition.conditions : [condition]
}

/** Conditions of the same form over rows of one collection have equal keys. */
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
    case 'not':
      return `not(${conditionKey(condition.condition)})`
    default:
      return `${condition.kind}(${condition.conditions.map(conditionKey)})`
  }
}

function fieldKey({ field, when }: VisibleField): string {
  return when.kind === 'always' ? field.name : `${field.name}?${conditionKey(when)}`
}

/** No field's name has a colon. */
function fieldPathKey({ steps, field }: FieldPath): string {
  return [...steps.map(({ relation }) => relation.name), `:${field.name}`].join('.')
}

function operandKey(operand: Operand): string {
  switch (operand.kind) {
    case 'param':
      return `$${operand.param}`
    case 'userId':
      return '@'
    case 'now':
      return `now${operand.shiftMs}`
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

function pathKey(path: Path): string {
  const joined = 'joinRows' in path ? `?${conditionKey(path.joinRows)}` : ''
  return `${path.relation.kind}:${path.relation.name}>${path.target.name}${joined}`
}

/** What a condition depends on. */
export interface Dependencies {
  /** Fields of the row itself. */
  readonly fields: Set<string>
  /** Collections reached through relations; the row's own may be among them. */
  readonly collections: Set<string>
  userId: boolean
  /** Whether it depends on the time, on claims, or on a confirmed address: see `GuardedReadBase`. */
  volatile: boolean
  /** Whether it has a field that is computed from all rows of a list, of which there is no bound. */
  counts: boolean
}

export function noDependencies(): Dependencies {
  return { fields: new Set(), collections: new Set(), userId: false, volatile: false, counts: false }
}

/** Adds what `condition` depends on to `found`. */
export function addCondition(condition: Condition, found: Dependencies): Dependencies {
  switch (condition.kind) {
    case 'always':
    case 'never':
      return found
    case 'compare':
      addOperand(condition.operand, found)
      return addField(condition.field, found)
    case 'fields':
      addFieldPath(condition.left, found)
      return addFieldPath(condition.right, found)
    case 'values':
      addComputation(condition.left, found)
      addComputation(condition.right, found)
      return found
    case 'isNull':
    case 'nullness':
      return addField(condition.field, found)
    case 'related':
      return addPath(condition.path, [condition.rows], found)
    case 'search':
      for (const field of condition.fields) found.fields.add(field.name)
      return found
    case 'not':
      return addCondition(condition.condition, found)
    default:
      for (const part of condition.conditions) addCondition(part, found)
      return found
  }
}

function addOperand(operand: Operand, found: Dependencies): void {
  if (operand.kind === 'userId') found.userId = true
  if (operand.kind === 'now' || operand.kind === 'claim') found.volatile = true
  if (operand.kind !== 'caller') return
  found.userId = true
  found.collections.add(operand.users.name)
  if (operand.isConfirmed) found.volatile = true
  if (operand.when) addOtherRows(addCondition(operand.when, noDependencies()), found)
}

function addFieldPath({ steps, field }: FieldPath, found: Dependencies): Dependencies {
  found.fields.add(steps[0]?.relation.field ?? field.name)
  for (const { target } of steps) found.collections.add(target.name)
  return found
}

export function addField({ field, when, computation }: VisibleField, found: Dependencies): Dependencies {
  if (computation) addComputation(computation, found)
  else found.fields.add(field.name)
  return addCondition(when, found)
}

/** Whether the field has the value of its column in every row, so that an index on the column has its order. */
export function isColumn({ when, computation }: VisibleField): boolean {
  return when.kind === 'always' && computation === undefined
}

function addComputation(computation: Computation, found: Dependencies): void {
  switch (computation.kind) {
    case 'literal':
      return
    case 'column':
      addField(computation.field, found)
      return
    case 'related':
      addCondition(computation.when, found)
      addBeyond(computation, beyond => addComputation(computation.value, beyond), found)
      return
    case 'aggregate': {
      const { field } = computation
      found.counts = true
      addBeyond(computation, beyond => field && addField(field, beyond), found)
      return
    }
    case 'first': {
      found.counts = true
      const fields = [computation.field, ...computation.sort.map(({ field }) => field)]
      addBeyond(computation, beyond => fields.forEach(field => void addField(field, beyond)), found)
      return
    }
    case 'when':
      addCondition(computation.condition, found)
      addComputation(computation.value, found)
      addComputation(computation.otherwise, found)
      return
    case 'arithmetic':
      addComputation(computation.left, found)
      addComputation(computation.right, found)
      return
    case 'datePart':
      addComputation(computation.of, found)
      return
    default:
      for (const part of computation.parts) addComputation(part, found)
  }
}

/** Adds the dependencies of following a path, and those that `addThere` finds in the rows at its end. */
function addBeyond(
  { path, rows }: { readonly path: Path; readonly rows: Condition },
  addThere: (beyond: Dependencies) => void,
  found: Dependencies,
): void {
  addPath(path, [rows], found)
  const beyond = noDependencies()
  addThere(beyond)
  addOtherRows(beyond, found)
}

/** Adds the dependencies of following `path`, and of the conditions over the rows at its end. */
export function addPath(path: Path, rows: readonly Condition[], found: Dependencies): Dependencies {
  const beyond = noDependencies()
  beyond.collections.add(path.target.name)
  if ('through' in path) {
    beyond.collections.add(path.through.name)
    addCondition(path.joinRows, beyond)
  }
  for (const condition of rows) addCondition(condition, beyond)
  if (path.relation.kind === 'one') found.fields.add(path.relation.field)
  return addOtherRows(beyond, found)
}

/** Adds the dependencies of other rows, without their fields, which are not fields of this row. */
export function addOtherRows(beyond: Dependencies, found: Dependencies): Dependencies {
  for (const name of beyond.collections) found.collections.add(name)
  found.userId ||= beyond.userId
  found.volatile ||= beyond.volatile
  found.counts ||= beyond.counts
  return found
}
