/**
 * Conditions over a row as an event logged it. Whoever is told of it could have read it when it was committed, and may read
 * it now: so every condition is the conjunction of two.
 *
 * - `commit`: what it asks of other rows, whoever asks, is a fact that the log has kept; `now` is the time of the commit.
 * - `now`: other rows are as they are stored; `now` is the time of the request.
 *
 * What depends on the caller is decided by stored rows in both, e.g. whether a membership was valid at the commit, as it is
 * stored now. What cannot be known, because the log lacks a fact or a row
 * is gone, makes a condition false, negated or not (Kleene's logic: `certain` and its dual, "not certainly false").
 */
import type { Collection, Field, ToOne } from '../../../model/model.ts'
import { always, and, never, not, or } from '../condition.ts'
import type { GuardedSelected } from '../guarded.ts'
import type {
  Computation,
  Condition,
  ConditionOfKind,
  FieldPath,
  ToOnePath,
  VisibleField,
} from '../guarded-conditions.ts'
import type { LoggedRow } from '../plan.ts'
import { atTime, dependsOnCaller, readsTime, withoutCaller } from './caller-dependence.ts'

/** Receives what the log has to keep; returns its key. */
export type KeepFact = (condition: Condition) => string

export interface LoggedContext {
  /** Of the row. */
  readonly collection: Collection
  readonly event: LoggedRow
  readonly keep: KeepFact
}

interface Reading extends LoggedContext {
  readonly half: 'commit' | 'now'
  /** Whether the result must certainly hold; otherwise, it must not certainly fail. */
  readonly certain: boolean
}

type Steps = readonly ToOnePath[]

/** The condition, over a logged row. */
export function loggedCondition(condition: Condition, context: LoggedContext): Condition {
  const halves = (['commit', 'now'] as const).map(half =>
    read(condition, [], { ...context, half, certain: true }),
  )
  return and(...halves)
}

/** The selection, over a logged row. */
export function loggedSelect(
  select: readonly GuardedSelected[],
  context: LoggedContext,
): readonly GuardedSelected[] {
  return select.map(selected => {
    if (selected.kind === 'field') return { ...selected, field: loggedField(selected.field, context) }
    if (selected.kind === 'relation') return { ...selected, when: loggedCondition(selected.when, context) }
    return selected
  })
}

function loggedField(field: VisibleField, context: LoggedContext): VisibleField {
  const { when, computation } = field
  return {
    ...field,
    when: loggedCondition(when, context),
    ...(computation && { computation: loggedComputation(computation, context) }),
  }
}

/** Only the parts that read the row itself: related items are those of now, as in any read. */
function loggedComputation(computation: Computation, context: LoggedContext): Computation {
  const inner = (part: Computation) => loggedComputation(part, context)
  switch (computation.kind) {
    case 'column':
      return { ...computation, field: loggedField(computation.field, context) }
    case 'related':
      return { ...computation, when: loggedCondition(computation.when, context) }
    case 'arithmetic':
      return { ...computation, left: inner(computation.left), right: inner(computation.right) }
    case 'concat':
    case 'coalesce':
      return { ...computation, parts: computation.parts.map(inner) }
    case 'when': {
      const { condition, value, otherwise } = computation
      return {
        ...computation,
        condition: loggedCondition(condition, context),
        value: inner(value),
        otherwise: inner(otherwise),
      }
    }
    case 'datePart':
    case 'round':
      return { ...computation, of: inner(computation.of) }
    default:
      return computation
  }
}

/** `condition` over the row that `steps` lead to from the logged one. To at most one, so the parts can be asked one by one. */
function read(condition: Condition, steps: Steps, reading: Reading): Condition {
  switch (condition.kind) {
    case 'always':
      return leads(steps, reading)
    case 'never':
      return never
    case 'and':
      return and(...condition.parts.map(part => read(part, steps, reading)))
    case 'or':
      return or(...condition.parts.map(part => read(part, steps, reading)))
    case 'not': {
      const opposite = { ...reading, certain: !reading.certain }
      return and(leads(steps, reading), not(read(condition.part, steps, opposite)))
    }
    case 'related':
      return readRelated(condition, steps, reading)
    default:
      return readFields(condition, steps, reading)
  }
}

function readRelated(condition: ConditionOfKind<'related'>, steps: Steps, reading: Reading): Condition {
  const { path, rows, stored } = condition
  // Of a filter, which narrows what the rules let the caller read, by related items as they are now.
  if (!stored) return condition
  if (path.relation.kind === 'one') return read(rows, [...steps, path as ToOnePath], reading)
  if (!dependsOnCaller(condition)) return readOthers(condition, steps, gone(steps, reading), reading)
  const isDeleted =
    steps.length > 0 ? gone(steps, reading) : and(deleted(reading), mayHaveHad(condition, reading))
  return readStored(condition, steps, isDeleted, reading)
}

/** A row that is gone had such related rows, if the log knows, for some caller. */
function mayHaveHad(condition: ConditionOfKind<'related'>, reading: Reading): Condition {
  return fact({ ...condition, rows: withoutCaller(condition.rows) }, { ...reading, certain: false })
}

function readFields(condition: Condition, steps: Steps, reading: Reading): Condition {
  if (steps.length > 0) {
    const isGone = gone(steps, reading)
    return dependsOnCaller(condition)
      ? readStored(condition, steps, isGone, reading)
      : readOthers(condition, steps, isGone, reading)
  }
  if (condition.kind === 'fields') return readTwoFields(condition, reading)
  if (condition.kind !== 'compare' && condition.kind !== 'isNull' && condition.kind !== 'nullness')
    return condition
  const field = loggedField(condition.field, reading)
  if (isUnlogged(field.field)) return readUnlogged(condition, reading)
  const timed = reading.half === 'commit' ? atTime(condition, reading.event.at) : condition
  return { ...timed, field } as Condition
}

/** Two fields of the row itself, or of rows that it leads to. */
function readTwoFields(condition: ConditionOfKind<'fields'>, reading: Reading): Condition {
  const { left, right } = condition
  const isOwn = (path: FieldPath) => path.steps.length === 0
  if (isOwn(left) && isOwn(right)) {
    return isUnlogged(left.field) || isUnlogged(right.field) ? readUnlogged(condition, reading) : condition
  }
  return readOthers(condition, [], or(gone(left.steps, reading), gone(right.steps, reading)), reading)
}

/** The log has no value of a field that no client may read: it keeps what was asked of it. */
function readUnlogged(condition: Condition, reading: Reading): Condition {
  if (dependsOnCaller(condition)) return readStored(condition, [], deleted(reading), reading)
  if (reading.half === 'now' && readsTime(condition))
    return readStored(condition, [], deleted(reading), reading)
  return fact(condition, reading)
}

function readOthers(condition: Condition, steps: Steps, isGone: Condition, reading: Reading): Condition {
  return reading.half === 'commit'
    ? fact(along(steps, condition), reading)
    : readStored(condition, steps, isGone, reading)
}

function readStored(condition: Condition, steps: Steps, isGone: Condition, reading: Reading): Condition {
  const { half, certain, event } = reading
  const stored = along(steps, half === 'commit' ? atTime(condition, event.at) : condition)
  return certain ? stored : or(stored, isGone)
}

/** The steps lead to a row. */
function leads(steps: Steps, reading: Reading): Condition {
  const [first, ...others] = steps
  if (first === undefined) return always
  const field = linkOf(first, reading)
  // A reference without a row cannot be stored.
  if (reading.half === 'commit' && others.length === 0 && !isUnlogged(field)) return not(isNull(field))
  return readOthers(always, steps, gone(steps, reading), reading)
}

/** A row that the logged one refers to no longer exists. An empty reference is not gone. */
function gone([first]: Steps, reading: Reading): Condition {
  if (first === undefined) return never
  const field = linkOf(first, reading)
  const isGone = and(not(isNull(field)), not(along([first], always)))
  return isUnlogged(field) ? or(deleted(reading), isGone) : isGone
}

/** The row itself no longer exists. */
function deleted({ collection }: Reading): Condition {
  const itself: ToOne = {
    kind: 'one',
    name: 'id',
    target: collection.name,
    field: 'id',
    onDelete: 'restrict',
  }
  return not(along([{ relation: itself, target: collection }], always))
}

function fact(condition: Condition, { certain, event, keep }: Reading): Condition {
  const known = { kind: 'fact', key: keep(condition), facts: event.facts } as const
  return certain ? { ...known, holds: true } : not({ ...known, holds: false })
}

function along(steps: Steps, condition: Condition): Condition {
  return steps.reduceRight<Condition>(
    (rows, path) => ({ kind: 'related', path, rows, stored: true }),
    condition,
  )
}

function isNull(field: Field): Condition {
  return { kind: 'isNull', field: { field, when: always } }
}

function linkOf({ relation }: ToOnePath, { collection }: Reading): Field {
  const field = collection.fields.get(relation.field)
  if (field === undefined) throw new Error(`${collection.name} has no field ${relation.field}`)
  return field
}

function isUnlogged({ internal, writeOnly }: Field): boolean {
  return internal || writeOnly
}
