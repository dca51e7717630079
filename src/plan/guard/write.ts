/** Writes: what the caller may set, what is set in addition, and which checks must hold before and after. */
import { ApiError, type FieldFault } from '../../errors.ts'
import type { Collection, Field, FieldDefault } from '../../model/model.ts'
import { type BodyMode, isWritable } from '../../model/schemas.ts'
import { unwritableFault } from '../../model/validate.ts'
import { addCondition, always, noDependencies } from '../condition.ts'
import type {
  Check,
  Condition,
  GuardedAssignment,
  GuardedCreate,
  GuardedDelete,
  GuardedLimit,
  GuardedSelected,
  GuardedUpdate,
  ReferenceCheck,
  Refusal,
} from '../guarded.ts'
import { concerns, limitsOf } from '../limits.ts'
import type { Assignment, CreateShape, DeleteShape, Most, UpdateShape } from '../plan.ts'
import type { ModelView } from './model-view.ts'
import { guardSelect } from './read.ts'
import { mayNotSet, requirePossible, requireReadable, requireScope } from './refusals.ts'

export function guardCreate(shape: CreateShape, view: ModelView): GuardedCreate {
  const collection = view.collection(shape.collection)
  requireScope(view, 'write', collection)
  const allowed = view.writable(collection, 'create')
  requirePossible(view, allowed, collection, 'create')
  const chosen = settable(shape.set, collection, view, 'create')
  const rules = writeRules(chosen, collection, view)
  const computed = shape.computed.map(one => assignment(one, collection))
  // Values that Portico computes replace those of the caller.
  const own = new Set(computed.map(one => one.field))
  const set = [...chosen.filter(one => !own.has(one.field)), ...computed]
  const given = new Set(set.map(one => one.field))
  const rest = [...collection.fields.values()].filter(field => field.name !== 'id' && !given.has(field))
  requireValues(collection.prepare ? rest.filter(field => !isPrepared(field)) : rest)
  const refusals: Refusal[] = []
  const all = [...set, ...rest.map(initial)]
  return {
    kind: 'create',
    collection,
    set: all,
    limits: [...limitsOf(view.model, collection), ...(shape.most ? [bounded(shape.most, collection)] : [])],
    references: references(chosen, view),
    after: checks([{ condition: allowed, field: undefined }, ...rules]),
    rows: view.readable(collection),
    select: guardSelect(shape.select, collection, view, shape.lenient ? { refusals, keys: [] } : undefined),
    refusals,
  }
}

function bounded({ field, count, refusal }: Most, { name, fields }: Collection): GuardedLimit {
  const per = fields.get(field)
  if (per === undefined) throw new TypeError(`${name} has no field ${field}.`)
  return { count, per, where: always, refusal }
}

export function guardUpdate(shape: UpdateShape, view: ModelView): GuardedUpdate {
  const collection = view.collection(shape.collection)
  requireScope(view, 'write', collection)
  const allowed = view.writable(collection, 'update')
  requirePossible(view, allowed, collection, 'update')
  const rows = requireReadable(view, collection)
  const chosen = settable(shape.set, collection, view, shape.mode)
    .map(one => over(one, collection, view, shape.documents === 'merge'))
    .map(one => (shape.withheld?.includes(one.field.name) ? { ...one, withheld: true as const } : one))
  const reset = shape.mode === 'replace' ? leftOut(chosen, collection, view) : []
  const set = touch([...chosen, ...reset], collection)
  const refusals: Refusal[] = []
  return {
    kind: 'update',
    collection,
    id: shape.id,
    set,
    references: references(chosen, view),
    ifMatch: shape.ifMatch,
    eventType: shape.eventType,
    limits: limitsOf(view.model, collection).filter(limit => collection.prepare || concerns(limit, set)),
    rows,
    before: checks([{ condition: allowed, field: undefined }, ...writeRules(chosen, collection, view)]),
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
    rows: requireReadable(view, collection),
    before: checks([{ condition: allowed, field: undefined }]),
    representation: representation(collection, view),
  }
}

/**
 * The assignments that the caller may make, some of them only in some rows. Throws one error for all others. In an update,
 * a field that the caller can read may be set to its current value: its check decides that.
 */
function settable(
  set: readonly Assignment[],
  collection: Collection,
  view: ModelView,
  mode: BodyMode,
): readonly GuardedAssignment[] {
  const faults = set.flatMap(({ field: name }) => fault(name, collection, view, mode) ?? [])
  if (faults.length > 0) throw new ApiError('VALIDATION_FAILED', undefined, { details: faults })
  const chosen = set.map(one => assignment(one, collection))
  const refused = chosen
    .map(one => one.field)
    .filter(field => writable(field, collection, view).kind === 'never')
    .filter(field => mode === 'create' || view.shownIn(collection, field).kind === 'never')
  if (refused.length > 0) throw mayNotSet(refused, collection, mode === 'create' ? 'create' : 'update')
  return chosen
}

function fault(
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

function assignment({ field: name, param }: Assignment, collection: Collection): GuardedAssignment {
  const field = collection.fields.get(name)
  if (!field) throw new Error(`${collection.name} has no field ${name} to set`)
  return { field, value: { kind: 'param', param } }
}

/** An assignment in an update. */
function over(
  one: GuardedAssignment,
  collection: Collection,
  view: ModelView,
  merges: boolean,
): GuardedAssignment {
  const seen = view.shownIn(collection, one.field)
  return {
    ...one,
    ...(seen.kind === 'always' ? {} : { seen }),
    ...(merges && one.field.type.isDocument ? { merges } : {}),
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
    const self = view.access.signedIn && target.name === 'users'
    return [{ field, value, target, rows: view.readable(target), self }]
  })
}

/** Whether `prepare` has to set the field. */
function isPrepared(field: Field): boolean {
  return field.readOnly && !field.internal
}

function initial(field: Field): GuardedAssignment {
  return { field, value: defaultOf(field) }
}

function defaultOf(field: Field): GuardedAssignment['value'] {
  const standard = startingValue(field)
  return standard ? { kind: 'default', default: standard } : { kind: 'literal', value: null }
}

function startingValue(field: Field): FieldDefault | undefined {
  return field.name === 'created_at' || field.name === 'updated_at' ? { kind: 'now' } : field.default
}

/** Throws if one of these fields, which have no value, needs one. */
function requireValues(fields: readonly Field[]): void {
  const missing = fields.filter(field => !field.optional && !startingValue(field))
  const hidden = missing.find(field => field.internal || field.readOnly)
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
 * Fields that a replacement omits but the caller could have set: they are reset, in the rows where the caller could have
 * set them.
 */
function leftOut(
  chosen: readonly GuardedAssignment[],
  collection: Collection,
  view: ModelView,
): readonly GuardedAssignment[] {
  const given = new Set(chosen.map(one => one.field))
  const open = [...collection.fields.values()].filter(
    field =>
      !given.has(field) &&
      !(field.name === 'id' || field.readOnly || field.internal || field.immutable) &&
      writable(field, collection, view).kind !== 'never',
  )
  const rules = open.map(field => writable(field, collection, view))
  requireValues(open.filter((_, index) => rules[index]?.kind === 'always'))
  return open.map((field, index) => {
    const made = over(initial(field), collection, view, false)
    const when = rules[index]
    return when === undefined || when.kind === 'always' ? made : { ...made, when }
  })
}

function touch(set: readonly GuardedAssignment[], collection: Collection): readonly GuardedAssignment[] {
  const touched = collection.fields.get('updated_at')
  if (!touched || set.length === 0 || set.some(one => one.field === touched)) return set
  return [...set, initial(touched)]
}

/** Whether setting these fields can change what the condition says about the row. */
function dependsOn(condition: Condition, set: readonly GuardedAssignment[]): boolean {
  const { fields, collections } = addCondition(condition, noDependencies())
  return collections.size > 0 || set.some(one => fields.has(one.field.name))
}

function representation(collection: Collection, view: ModelView): readonly GuardedSelected[] {
  return [...view.names(collection).fields].map(([key, field]) => ({
    kind: 'field',
    key,
    field: { field, when: view.shownIn(collection, field) },
  }))
}
