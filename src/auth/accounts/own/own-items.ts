/** What users make, change and delete on the pages of their account: by the guard, hooks and rules of the API. */
import { ApiError } from '../../../errors.ts'
import type { JsonValue } from '../../../model/fields/type.ts'
import type { Collection, Model } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { admit } from '../../../plan/guard.ts'
import type { DeleteShape, ItemShape, ListShape } from '../../../plan/plan.ts'
import { type CreateHooks, type Creation, type Run, writeWith } from '../../../plan/run.ts'
import { createPlan, deleteShape, updateShape } from '../../../plan/system-plans.ts'
import type { Principal } from '../../../principal.ts'

export interface OwnItemsParts {
  readonly model: Model
  /** With the rules of the built-in collections. */
  readonly run: Run
  readonly hooks: CreateHooks
}

type Values = Readonly<Record<string, unknown>>

export interface CreatedItem {
  readonly id: number
  /** The secrets that nothing shows again. */
  readonly revealed: Readonly<Record<string, JsonValue>>
}

const nothing: Creation = { computed: {}, revealed: {} }
const deletions = new Map<string, DeleteShape>()

/** One per collection, because each shape is compiled once. */
function deletionOf(collection: string): DeleteShape {
  const shape = deletions.get(collection) ?? deleteShape(collection)
  deletions.set(collection, shape)
  return shape
}

/** The items of one principal. Every call rejects with the `ApiError` with which the API refuses the same. */
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

  /** Throws NOT_FOUND where there is none that the user may see. */
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
    const { computed, revealed, most, afterwards } =
      (await hooks.get(name)?.(values, this.#principal)) ?? nothing
    const { shape, args } = createPlan(name, values, computed)
    const plan = { shape: { ...shape, most }, args }
    const { id } = await run.write(plan, this.#principal, afterwards && writeWith(afterwards))
    return { id, revealed }
  }

  /** Changes these fields and leaves the others as they are. */
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
    const found = this.#parts.model.collections.get(name)
    if (!found) throw new ApiError('NOT_FOUND')
    return found
  }
}

/** What is wrong with the body of a create, as `faultsOf` says it. */
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

/** The item is gone, or the session is over: no other entry would be taken. */
const notOfForms: ReadonlySet<string> = new Set(['NOT_FOUND', 'UNAUTHORIZED'])

/**
 * What a form says of a refusal, by the name of the field; of no field: `form`. `fieldOf`: the field of the form for a
 * field of the body. Throws what is no fault of the form.
 */
export function faultsOf(
  error: unknown,
  fieldOf: (name: string) => string | undefined,
): ReadonlyMap<string, string> {
  const isForm = error instanceof ApiError && error.status < 500 && !notOfForms.has(error.code)
  if (!isForm) throw error
  const faults = new Map<string, string>()
  for (const { field, message } of error.details ?? []) {
    const name = fieldOf(field.split('/', 1)[0] ?? '') ?? 'form'
    const before = faults.get(name)
    faults.set(name, before === undefined ? message : `${before} ${message}`)
  }
  return faults.size > 0 ? faults : new Map([['form', error.message]])
}
