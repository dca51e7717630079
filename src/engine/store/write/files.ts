/**
 * The files of items, as part of their writes: an upload becomes the file of a field, and a file that its item no longer has
 * is marked as deleted. Their bytes follow the rows, after the commit: see `engine/files`.
 */
import type { ApiError } from '../../../base/errors.ts'
import { isObject } from '../../../base/json.ts'
import type { Principal } from '../../../base/principal.ts'
import type { FileBounds } from '../../../model/fields/field-type.ts'
import { acceptsType, type FileValue } from '../../../model/fields/file.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Field } from '../../../model/model.ts'
import { validationError } from '../../../model/validate.ts'
import type { GuardedAssignment, GuardedPlan, GuardedWrite } from '../../plan/guarded.ts'
import { slot, sql } from '../sql/writer.ts'
import { encode, type ResultRows, slotInputs } from '../values.ts'
import type { WriteDatabase } from './database.ts'
import type { CascadeItem } from './removal/cascade-set.ts'
import type { QuerySteps, StepQuery, WriteScope } from './steps.ts'

/** Whether items of the collection can have files. */
export function hasFiles({ fields }: Pick<Collection, 'fields'>): boolean {
  return [...fields.values()].some(({ type }) => type.file !== undefined)
}

/** A plan whose uploads are claimed. */
export interface ClaimedPlan<P> {
  readonly plan: P
  /** The new file of each field that is set to an upload. */
  readonly keys: ReadonlyMap<Field, string>
  /** The fields that are set to the file that the item has. */
  readonly kept: ReadonlySet<Field>
}

interface SetFile {
  readonly field: Field
  readonly bounds: FileBounds
  readonly param: number
}

/** What an update does in the end. */
interface FileChanges {
  readonly changed: readonly GuardedAssignment[]
  /** The fields that `prepare` sets. It can only remove files. */
  readonly prepared: ReadonlySet<Field> | undefined
}

/** The writes of the files that a create or an update sets. */
export class Files<S> {
  readonly #collection: Collection
  readonly #set: readonly SetFile[]
  readonly #claim: S
  readonly #place: S
  readonly #find: S
  readonly #release: S
  readonly #encodeTime: (time: string) => ReturnType<typeof encode>

  constructor(collection: Collection, set: readonly SetFile[], { model, prepare }: WriteDatabase<S>) {
    this.#collection = collection
    this.#set = set
    this.#encodeTime = timeEncoder(model.collections)
    const told = sql`"name", "type", "size", "sha256"`
    // The last slot: whether it may be of anyone.
    const isOwn = sql`(coalesce("user_id", 0) = ${slot(4)} AND coalesce("app_id", 0) = ${slot(5)} OR ${slot(6)} = 1)`
    this.#claim = prepare(
      sql`UPDATE "uploads" SET "state" = 'live', "collection" = ${slot(1)}, "field" = ${slot(2)}, "item_id" = ${slot(3)} WHERE "key" = ${slot(0)} AND "state" = 'pending' AND "sha256" IS NOT NULL AND ${isOwn} RETURNING ${told}`,
    )
    this.#place = prepare(sql`UPDATE "uploads" SET "item_id" = ${slot(1)} WHERE "key" = ${slot(0)}`)
    this.#find = prepare(
      sql`SELECT ${told} FROM "uploads" WHERE "key" = ${slot(0)} AND "collection" = ${slot(1)} AND "field" = ${slot(2)} AND "item_id" = ${slot(3)}`,
    )
    this.#release = prepare(
      sql`UPDATE "uploads" SET "state" = 'deleted', "ended_at" = ${slot(4)} WHERE "collection" = ${slot(0)} AND "field" = ${slot(1)} AND "item_id" = ${slot(2)} AND "state" = 'live' AND "key" <> ${slot(3)}`,
    )
  }

  /**
   * The plan with the values of columns in place of uploads. Comes first: a write that fails later gives them back. `id`: null
   * for a new item. Throws VALIDATION_FAILED.
   */
  *claim<P extends GuardedWrite>(plan: P, id: number | null): QuerySteps<S, ClaimedPlan<P>> {
    const keys = new Map<Field, string>()
    const kept = new Set<Field>()
    const args = [...plan.args]
    for (const { field, bounds, param } of this.#set) {
      const value = args[param]
      if (!isObject(value)) continue
      const isUpload = typeof value.upload === 'string'
      const key = isUpload ? String(value.upload) : keyOf(value)
      const [rows] = yield [
        isUpload ? this.#claimQuery(key, field, id, plan.principal) : this.#findQuery(key, field, id ?? 0),
      ]
      args[param] = fileValueOf(key, rows, { field, bounds, isUpload })
      if (isUpload) keys.set(field, key)
      else kept.add(field)
    }
    return { plan: { ...plan, args }, keys, kept }
  }

  /** After a create: the uploads belong to the new item, but for those of `removed`, which `prepare` has removed. */
  *place(
    { keys }: ClaimedPlan<GuardedPlan>,
    id: number,
    removed: readonly Field[],
    scope: WriteScope<S>,
  ): QuerySteps<S, void> {
    if (keys.size === 0) return
    yield [...keys.values()].map(key => ({ statement: this.#place, inputs: slotInputs([key, id]) }))
    if (removed.length > 0) yield removed.map(field => this.#releaseQuery(field, id, '', scope))
  }

  /** After an update: marks the files that were replaced. Throws VALIDATION_FAILED if a file that is to be kept was not there. */
  *release(
    { keys, kept }: ClaimedPlan<GuardedPlan>,
    id: number,
    { changed, prepared }: FileChanges,
    scope: WriteScope<S>,
  ): QuerySteps<S, void> {
    const fields = new Set(changed.map(({ field }) => field).filter(({ type }) => type.file !== undefined))
    for (const field of fields) if (kept.has(field) && !prepared?.has(field)) throw unknownFile(field)
    for (const field of keys.keys()) fields.add(field)
    if (fields.size === 0) return
    yield [...fields].map(field =>
      this.#releaseQuery(field, id, (prepared?.has(field) ? undefined : keys.get(field)) ?? '', scope),
    )
  }

  #releaseQuery(field: Field, id: number, but: string, { at }: WriteScope<S>): StepQuery<S> {
    const values = [this.#collection.name, field.name, id, but, this.#encodeTime(at)]
    return { statement: this.#release, inputs: slotInputs(values) }
  }

  #claimQuery(
    key: string,
    field: Field,
    id: number | null,
    { userId, app, access }: Principal,
  ): StepQuery<S> {
    const owner = [userId ?? 0, app?.id ?? 0, access.system ? 1 : 0]
    return {
      statement: this.#claim,
      inputs: slotInputs([key, this.#collection.name, field.name, id, ...owner]),
    }
  }

  #findQuery(key: string, field: Field, id: number): StepQuery<S> {
    return { statement: this.#find, inputs: slotInputs([key, this.#collection.name, field.name, id]) }
  }
}

/** Undefined if the write sets no file. */
export function filesOf<S>(
  collection: Collection,
  set: readonly GuardedAssignment[],
  database: WriteDatabase<S>,
): Files<S> | undefined {
  if (!hasFiles(collection)) return undefined
  const files = set.flatMap(({ field, value, withheld }) =>
    field.type.file === undefined || value.kind !== 'param' || withheld
      ? []
      : [{ field, bounds: field.type.file, param: value.param }],
  )
  return new Files(collection, files, database)
}

/** The statements that mark the files of deleted items, and the unused uploads of deleted accounts. */
export function removedFiles<S>({
  model,
  prepare,
}: WriteDatabase<S>): (items: readonly CascadeItem[], scope: WriteScope<S>) => readonly StepQuery<S>[] {
  if (!model.collections.has('uploads')) return () => []
  const encodeTime = timeEncoder(model.collections)
  const statement = prepare(
    sql`UPDATE "uploads" SET "state" = 'deleted', "ended_at" = ${slot(2)} WHERE "collection" = ${slot(0)} AND "item_id" = ${slot(1)} AND "state" = 'live'`,
  )
  // Nobody else can use them.
  const unused = prepare(
    sql`UPDATE "uploads" SET "state" = 'deleted', "ended_at" = ${slot(1)} WHERE "user_id" = ${slot(0)} AND "state" = 'pending'`,
  )
  return (items, { at }) =>
    items.flatMap(({ collection, id }) => [
      ...(hasFiles(collection)
        ? [{ statement, inputs: slotInputs([collection.name, id, encodeTime(at)]) }]
        : []),
      ...(collection.name === 'users'
        ? [{ statement: unused, inputs: slotInputs([id, encodeTime(at)]) }]
        : []),
    ])
}

function timeEncoder(collections: ReadonlyMap<string, Collection>) {
  const encoding = collections.get('uploads')?.fields.get('ended_at')?.type.encoding
  if (encoding === undefined) throw new TypeError('the model has no uploads')
  return (time: string) => encode(encoding.now?.(time), encoding)
}

/** The key in the address of a file: the segment before the last. Empty if there is none. */
function keyOf({ url }: { readonly [name: string]: JsonValue }): string {
  return String(url).split('/').at(-2) ?? ''
}

function fileValueOf(
  key: string,
  rows: ResultRows | undefined,
  {
    field,
    bounds,
    isUpload,
  }: { readonly field: Field; readonly bounds: FileBounds; readonly isUpload: boolean },
): JsonValue {
  const row = rows?.[0]
  if (row === undefined) throw isUpload ? unknownUpload(field) : unknownFile(field)
  const [name, type, size, sha256] = [String(row[0]), String(row[1]), Number(row[2]), String(row[3])]
  if (isUpload && size > bounds.maxBytes)
    throw fileFault(field, 'too_large', `may have at most ${bounds.maxBytes} bytes`)
  if (isUpload && !acceptsType(bounds, type)) throw refusedType(field, bounds, type)
  const value: FileValue = { file: `${key}/${encodeURIComponent(name)}`, name, type, size, sha256 }
  return { ...value }
}

/** The error for a file of a type that the field does not accept. */
export function refusedType(field: Pick<Field, 'name'>, { types = [] }: FileBounds, type: string): ApiError {
  return fileFault(
    field,
    'type_not_allowed',
    `must be of a type among ${types.join(', ')}; its content is ${type}`,
  )
}

function unknownUpload(field: Field): ApiError {
  return fileFault(field, 'not_found', 'names no upload of yours that is complete and unused')
}

function unknownFile(field: Field): ApiError {
  return fileFault(field, 'not_found', 'is not the file that the item has: send an upload')
}

function fileFault({ name }: Pick<Field, 'name'>, code: string, text: string): ApiError {
  return validationError([{ field: name, code, message: `${name} ${text}.` }])
}
