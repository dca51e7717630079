/** Creates, changes and deletes items on the account pages, with the guard, hooks and rules of the API. */
import { ApiError } from '../../../base/errors.ts'
import type { Principal } from '../../../base/principal.ts'
import { admit } from '../../../engine/plan/guard/guard.ts'
import type { DeleteShape, ItemShape, ListShape } from '../../../engine/plan/plan.ts'
import { type CreateHooks, emptyCreation, type Run, writeWith } from '../../../engine/plan/run.ts'
import { createPlan, deleteShape, updateShape } from '../../../engine/plan/system-plans.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'

export interface OwnItemsParts {
  readonly model: Model
  /** With the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: CreateHooks
}

type Values = Readonly<Record<string, unknown>>

export interface CreatedItem {
  readonly id: number
  /** Secrets that are shown only once. */
  readonly revealed: Readonly<Record<string, JsonValue>>
}

const deletions = new Map<string, DeleteShape>()

/** One shape per collection, because each shape is compiled once. */
function deletionOf(collection: string): DeleteShape {
  const shape = deletions.get(collection) ?? deleteShape(collection)
  deletions.set(collection, shape)
  return shape
}

/** The items of one principal. Every call rejects with the same `ApiError` as the API. */
export class OwnItems {
  readonly #parts: OwnItemsParts
  readonly #principal: Principal

  constructor(parts: OwnItemsParts, principal: Principal) {
    this.#parts = parts
    this.#principal = principal
  }

  /** At most `limit` items. `values`: the shape's own arguments. */
  async list<R>(shape: ListShape, limit: number, ...values: JsonValue[]): Promise<readonly R[]> {
    const { text } = await this.#parts.run.list({ shape, args: [0, limit, ...values] }, this.#principal)
    return JSON.parse(text ?? '[]')
  }

  /** Throws NOT_FOUND if there is no such item that the user may see. */
  async item<R>(shape: ItemShape, id: number): Promise<R> {
    const { text } = await this.#parts.run.item({ shape, args: [id] }, this.#principal)
    if (text === null) throw new ApiError('NOT_FOUND')
    return JSON.parse(text)
  }

  async create(name: string, body: Values): Promise<CreatedItem> {
    const { model, run, hooks } = this.#parts
    const collection = this.#collection(name)
    admit(model, collection, 'create', this.#principal.access)
    const { values } = bodyValidator(collection).create(body)
    const { computed, revealed, limit, afterwards } =
      (await hooks.get(name)?.(values, this.#principal)) ?? emptyCreation
    const { shape, args } = createPlan(name, values, computed)
    const plan = { shape: { ...shape, limit }, args }
    const { id } = await run.write(plan, this.#principal, afterwards && writeWith(afterwards))
    return { id, revealed }
  }

  /** Changes only the fields of the body. */
  async update(name: string, id: number, body: Values): Promise<void> {
    const { model, run } = this.#parts
    const collection = this.#collection(name)
    admit(model, collection, 'update', this.#principal.access)
    const { values } = bodyValidator(collection).merge(body)
    const fields = Object.keys(values)
    const args = [id, ...fields.map(field => values[field] ?? null)]
    await run.write({ shape: updateShape(name, fields), args }, this.#principal)
  }

  async remove(name: string, id: number): Promise<void> {
    const { model, run } = this.#parts
    admit(model, this.#collection(name), 'delete', this.#principal.access)
    await run.write({ shape: deletionOf(name), args: [id] }, this.#principal)
  }

  #collection(name: string): Collection {
    const collection = this.#parts.model.collections.get(name)
    if (!collection) throw new ApiError('NOT_FOUND')
    return collection
  }
}

/** The faults of the body of a create, in the form of `faultsOf`. */
export function bodyFaults(
  { collections }: Pick<Model, 'collections'>,
  name: string,
  body: Values,
  fieldOf: (name: string) => string | undefined,
): ReadonlyMap<string, string> {
  const collection = collections.get(name)
  try {
    if (collection) bodyValidator(collection).create(body)
    return new Map()
  } catch (error) {
    return faultsOf(error, fieldOf)
  }
}

/** Errors that the input of a form does not cause: the item does not exist, or the session has ended. */
const codesOutsideForms: ReadonlySet<string> = new Set(['NOT_FOUND', 'UNAUTHORIZED'])

/**
 * The messages of a refusal by the name of the form's field, or `form` for those about no field. `fieldOf`: the form's field for a
 * field of the body. Rethrows errors that the form's input has not caused.
 */
export function faultsOf(
  error: unknown,
  fieldOf: (name: string) => string | undefined,
): ReadonlyMap<string, string> {
  const isOfForm = error instanceof ApiError && error.status < 500 && !codesOutsideForms.has(error.code)
  if (!isOfForm) throw error
  const faults = new Map<string, string>()
  for (const { field, message } of error.details ?? []) {
    const name = fieldOf(field.split('/', 1)[0] ?? '') ?? 'form'
    const previous = faults.get(name)
    faults.set(name, previous === undefined ? message : `${previous} ${message}`)
  }
  return faults.size > 0 ? faults : new Map([['form', error.message]])
}
