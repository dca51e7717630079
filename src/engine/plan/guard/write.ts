/** Writes: what the caller may set, what Portico sets in addition, and the checks that must hold before and after. */
import { ApiError, type FieldFault } from '../../../base/errors.ts'
import { isAnonymous } from '../../../base/principal.ts'
import type { Collection, Field, FieldDefault } from '../../../model/model.ts'
import { type BodyMode, isWritable } from '../../../model/schemas.ts'
import { unwritableFault } from '../../../model/validate.ts'
import { addCondition, always, and, never, noDependencies } from '../condition.ts'
import type {
  Check,
  GuardedAssignment,
  GuardedCreate,
  GuardedDelete,
  GuardedLimit,
  GuardedSelected,
  GuardedUpdate,
  ReferenceCheck,
  Refusal,
} from '../guarded.ts'
import type { Condition } from '../guarded-conditions.ts'
import { affectsLimit, fieldsOfLimit, limitsOf, limitsOfUpdates } from '../limits.ts'
import type { Assignment, CardinalityLimit, CreateShape, DeleteShape, UpdateShape } from '../plan.ts'
import { blockersOf } from './blockers.ts'
import type { ModelView } from './model-view.ts'
import { guardSelect } from './read.ts'
import { isInScope, mayNotSet, requirePossible, requireReadable, requireScope } from './refusals.ts'

export function guardCreate(shape: CreateShape, view: ModelView): GuardedCreate {
  const collection = view.collection(shape.collection)
  requireScope(view, 'write', collection)
  const allowed = view.writable(collection, 'create')
  requirePossible(view, allowed, collection, 'create')
  const callerSet = settableAssignments(shape.set, collection, view, 'create')
  const rules = writeRules(callerSet, collection, view)
  const computed = shape.computed.map(assigned => guardAssignment(assigned, collection))
  // Values that Portico computes replace those of the caller.
  const computedFields = new Set(computed.map(({ field }) => field))
  const set = [...callerSet.filter(({ field }) => !computedFields.has(field)), ...computed]
  const assignedFields = new Set(set.map(({ field }) => field))
  const unassigned = [...collection.fields.values()].filter(
    field => field.name !== 'id' && !assignedFields.has(field),
  )
  const required = collection.prepare ? unassigned.filter(field => !isPrepared(field)) : unassigned
  requireValues(required, view.access.system)
  const refusals: Refusal[] = []
  const assignments = [...set, ...unassigned.map(initialAssignment)]
  return {
    kind: 'create',
    collection,
    set: assignments,
    limits: [
      ...guardLimits(limitsOf(view.model, collection), collection, view),
      ...(shape.limit ? [guardLimit(shape.limit, collection)] : []),
    ],
    references: references(callerSet, view),
    after: checks([{ condition: allowed, field: undefined }, ...rules]),
    rows: view.readable(collection),
    select: guardSelect(shape.select, collection, view, shape.lenient ? { refusals, keys: [] } : undefined),
    refusals,
  }
}

/** The limits with the rows that a refusal may name: those of which the caller may read all it depends on. */
function guardLimits(
  limits: readonly GuardedLimit[],
  collection: Collection,
  view: ModelView,
): readonly GuardedLimit[] {
  const isReadable = isInScope(view, 'read', collection)
  return limits.map(limit => {
    if (limit.kind !== 'overlap') return limit
    const fields = [...fieldsOfLimit(limit)].flatMap(name => collection.fields.get(name) ?? [])
    const shown = fields.map(field => view.visibleIn(collection, field))
    const ends = [limit.start, limit.end].map(field => view.visibleIn(collection, field))
    const [named, ofEnds] = isReadable
      ? [and(view.readable(collection), ...shown), and(...ends)]
      : [never, never]
    return { ...limit, named, shown: ofEnds }
  })
}

function guardLimit({ field, count, refusal }: CardinalityLimit, { name, fields }: Collection): GuardedLimit {
  const per = fields.get(field)
  if (per === undefined) throw new TypeError(`${name} has no field ${field}.`)
  return { kind: 'count', count, per, where: always, refusal }
}

export function guardUpdate(shape: UpdateShape, view: ModelView): GuardedUpdate {
  const collection = view.collection(shape.collection)
  requireScope(view, 'write', collection)
  const allowed = view.writable(collection, 'update')
  requirePossible(view, allowed, collection, 'update')
  const rows = requireReadable(view, collection)
  const callerSet = settableAssignments(shape.set, collection, view, shape.mode)
    .map(assignment => updateAssignment(assignment, collection, view, shape.documents === 'merge'))
    .map(assignment =>
      shape.withheld?.includes(assignment.field.name)
        ? { ...assignment, withheld: true as const }
        : assignment,
    )
  const reset = shape.mode === 'replace' ? resetAssignments(callerSet, collection, view) : []
  const set = withUpdatedAt([...callerSet, ...reset], collection)
  const refusals: Refusal[] = []
  return {
    kind: 'update',
    collection,
    id: shape.id,
    set,
    references: references(callerSet, view),
    ifMatch: shape.ifMatch,
    eventType: shape.eventType,
    limits: guardLimits(limitsOfUpdates(view.model, collection), collection, view).filter(
      limit => collection.prepare || affectsLimit(limit, set),
    ),
    rows,
    before: checks([{ condition: allowed, field: undefined }, ...writeRules(callerSet, collection, view)]),
    after:
      collection.prepare || dependsOn(allowed, set) ? checks([{ condition: allowed, field: undefined }]) : [],
    select: guardSelect(shape.select, collection, view, shape.lenient ? { refusals, keys: [] } : undefined),
    refusals,
    representation: representation(collection, view),
  }
}

export function guardDelete(shape: DeleteShape, view: ModelView): GuardedDelete {
  const collection = view.collection(shape.collection)
  requireScope(view, 'write', collection)
  const allowed = view.writable(collection, 'delete')
  requirePossible(view, allowed, collection, 'delete')
  return {
    kind: 'delete',
    collection,
    id: shape.id,
    ifMatch: shape.ifMatch,
    maxItems: shape.maxItems,
    rows: requireReadable(view, collection),
    blockers: blockersOf(collection, view),
    before: checks([{ condition: allowed, field: undefined }]),
    representation: representation(collection, view),
  }
}

/**
 * The assignments that the caller may make, some of them only in some rows. Throws one error for all others. In an update,
 * a field that the caller can read may be set to its current value, which its check decides.
 */
function settableAssignments(
  set: readonly Assignment[],
  collection: Collection,
  view: ModelView,
  mode: BodyMode,
): readonly GuardedAssignment[] {
  const faults = set.flatMap(({ field: name }) => unsettableFault(name, collection, view, mode) ?? [])
  if (faults.length > 0) throw new ApiError('VALIDATION_FAILED', undefined, { details: faults })
  const assignments = set.map(assigned => guardAssignment(assigned, collection))
  const refused = assignments
    .map(({ field }) => field)
    .filter(field => writable(field, collection, view).kind === 'never')
    .filter(field => mode === 'create' || view.visibleIn(collection, field).kind === 'never')
  if (refused.length > 0) throw mayNotSet(refused, collection, mode === 'create' ? 'create' : 'update')
  return assignments
}

function unsettableFault(
  name: string,
  collection: Collection,
  view: ModelView,
  mode: BodyMode,
): FieldFault | undefined {
  const field = collection.fields.get(name)
  const { system, logic } = view.access
  // Portico itself may set every field but `id`; the model's logic may not set internal fields.
  const isSettable = field && (system ? name !== 'id' && !(logic && field.internal) : isWritable(field, mode))
  return isSettable ? undefined : unwritableFault(name, collection, mode)
}

function guardAssignment(
  { field: name, param, increments }: Assignment,
  collection: Collection,
): GuardedAssignment {
  const field = collection.fields.get(name)
  if (!field) throw new Error(`${collection.name} has no field ${name} to set`)
  return { field, value: { kind: 'param', param }, ...(increments && { increments }) }
}

/** An assignment in an update. */
function updateAssignment(
  assignment: GuardedAssignment,
  collection: Collection,
  view: ModelView,
  merges: boolean,
): GuardedAssignment {
  const readableWhen = view.visibleIn(collection, assignment.field)
  return {
    ...assignment,
    ...(readableWhen.kind === 'always' ? {} : { readableWhen }),
    ...(merges && assignment.field.type.isDocument ? { merges } : {}),
  }
}

function writable(field: Field, collection: Collection, view: ModelView): Condition {
  return view.rule(field.access.write, collection)
}

function writeRules(
  set: readonly GuardedAssignment[],
  collection: Collection,
  view: ModelView,
): readonly Check[] {
  return set.map(({ field }) => ({ condition: writable(field, collection, view), field }))
}

function checks(all: readonly Check[]): readonly Check[] {
  return all.filter(check => check.condition.kind !== 'always')
}

function references(set: readonly GuardedAssignment[], view: ModelView): readonly ReferenceCheck[] {
  return set.flatMap(({ field, value }) => {
    if (!field.reference || value.kind === 'default') return []
    const target = view.collection(field.reference.target)
    return [{ field, value, target, rows: view.readable(target), self: ownIdIn(target, view) }]
  })
}

function ownIdIn({ name }: Collection, { access }: ModelView): ReferenceCheck['self'] {
  if (name === 'users') return access.signedIn ? 'userId' : undefined
  return name === 'oauth_apps' && !isAnonymous(access) ? 'appId' : undefined
}

/** Whether `prepare` has to set the field. */
function isPrepared(field: Field): boolean {
  return field.readOnly && !field.internal
}

function initialAssignment(field: Field): GuardedAssignment {
  return { field, value: defaultOf(field) }
}

function defaultOf(field: Field): GuardedAssignment['value'] {
  const initialValue = initialDefault(field)
  return initialValue ? { kind: 'default', default: initialValue } : { kind: 'literal', value: null }
}

function initialDefault(field: Field): FieldDefault | undefined {
  return field.name === 'created_at' || field.name === 'updated_at' ? { kind: 'now' } : field.default
}

/** Throws if one of these fields without a value needs one. `setsReadOnly`: whether the caller sets read-only fields, too. */
function requireValues(fields: readonly Field[], setsReadOnly = false): void {
  const missing = fields.filter(field => !field.optional && !initialDefault(field))
  const hidden = missing.find(field => field.internal || (field.readOnly && !setsReadOnly))
  if (hidden) throw new Error(`nothing computes ${hidden.name}, which every item must have`)
  if (missing.length === 0) return
  const details = missing.map(field => ({
    field: field.name,
    code: 'required',
    message: 'This field must have a value.',
  }))
  throw new ApiError('VALIDATION_FAILED', undefined, { details })
}

/**
 * Resets the fields that a replacement omits but the caller could have set, in the rows where the caller could have set
 * them.
 */
function resetAssignments(
  callerSet: readonly GuardedAssignment[],
  collection: Collection,
  view: ModelView,
): readonly GuardedAssignment[] {
  const assignedFields = new Set(callerSet.map(({ field }) => field))
  const omitted = [...collection.fields.values()].filter(
    field =>
      !assignedFields.has(field) &&
      !(field.name === 'id' || field.readOnly || field.internal || field.immutable) &&
      writable(field, collection, view).kind !== 'never',
  )
  const rules = omitted.map(field => writable(field, collection, view))
  requireValues(omitted.filter((_, index) => rules[index]?.kind === 'always'))
  return omitted.map((field, index) => {
    const reset = updateAssignment(initialAssignment(field), collection, view, false)
    const when = rules[index]
    return when === undefined || when.kind === 'always' ? reset : { ...reset, when }
  })
}

function withUpdatedAt(
  set: readonly GuardedAssignment[],
  collection: Collection,
): readonly GuardedAssignment[] {
  const updatedAt = collection.fields.get('updated_at')
  if (!updatedAt || set.length === 0 || set.some(({ field }) => field === updatedAt)) return set
  return [...set, initialAssignment(updatedAt)]
}

/** Whether setting these fields can change the result of the condition. */
function dependsOn(condition: Condition, set: readonly GuardedAssignment[]): boolean {
  const { fields, collections } = addCondition(condition, noDependencies())
  return collections.size > 0 || set.some(({ field }) => fields.has(field.name))
}

function representation(collection: Collection, view: ModelView): readonly GuardedSelected[] {
  return [...view.names(collection).fields].map(([key, field]) => ({
    kind: 'field',
    key,
    field: { field, when: view.visibleIn(collection, field) },
  }))
}
