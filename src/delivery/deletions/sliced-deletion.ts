/** Deletions of items that one transaction may not delete: see `portico delete`, and the deletion of accounts. */
import { ApiError } from '../../base/errors.ts'
import { type Principal, service } from '../../base/principal.ts'
import { CascadeTooLarge } from '../../engine/plan/cascade-too-large.ts'
import { isDeletedWith } from '../../engine/plan/dependents.ts'
import type { DeleteShape, ListShape, UpdateShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import { deleteShape, listShape, updateShape, where } from '../../engine/plan/system-plans.ts'
import type { Model } from '../../model/model.ts'
import { referencesTo } from '../../model/references.ts'

/** How many references are read at once, to be cleared one after the other. */
const pageItems = 100
/** How many other items one of these deletions deletes or changes: other writes wait for it. */
const sliceItems = 1000

interface Item {
  readonly collection: string
  readonly id: number
}

const keyOf = ({ collection, id }: Item) => `${collection} ${id}`

interface DeletionParts {
  readonly model: Model
  readonly run: Run
  /** Default: the service. */
  readonly principal?: Principal
  /** Called before each transaction. What it throws ends the deletion, which another one continues. */
  readonly beforeSlice?: (deletion: SlicedDeletion) => Promise<void>
  /**
   * An item whose deletion is refused is tried again after the others, which may be among what prevents it. Otherwise the first
   * refusal ends the deletion.
   */
  readonly retriesBlocked?: boolean
}

/** A refusal of one item: others may be possible. */
function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500
}

/** Deletes items whose deletion at once would be refused as too large: first what depends on them, in slices. */
export class SlicedDeletion {
  readonly #model: Model
  readonly #run: Run
  readonly #principal: Principal
  readonly #beforeSlice: DeletionParts['beforeSlice']
  readonly #retriesBlocked: boolean
  readonly #shapes = new Map<string, DeleteShape | UpdateShape | ListShape>()
  /** The items that are being deleted: they form cycles with items that refer to them. */
  readonly #begun = new Set<string>()
  /** Items whose deletion was refused, with `count` at that time: trying again helps only after another change. */
  readonly #refused = new Map<string, { readonly count: number; readonly error: ApiError }>()
  #root: Item | undefined
  /** How many items were deleted, or lost a reference, in slices of their own. */
  count = 0

  constructor({ model, run, principal = service, beforeSlice, retriesBlocked = false }: DeletionParts) {
    this.#model = model
    this.#run = run
    this.#principal = principal
    this.#beforeSlice = beforeSlice
    this.#retriesBlocked = retriesBlocked
  }

  /** Throws a `CascadeTooLarge` for cycles of more items than one deletion may delete. */
  async remove(collection: string, id: number): Promise<void> {
    this.#root = { collection, id }
    await this.#remove(this.#root)
  }

  async #remove(item: Item): Promise<void> {
    for (let before = -1, blocked: ApiError | undefined; ; ) {
      try {
        await this.#beforeSlice?.(this)
        await this.#removeAtOnce(item, sliceItems)
        return
      } catch (error) {
        if (!(error instanceof CascadeTooLarge)) throw error
        if (blocked !== undefined && this.count === before) throw blocked
        // Only cycles are left, which are deleted at once or not at all.
        if (this.count === before) return this.#removeAtOnce(item)
        before = this.count
        blocked = await this.#removeDependents(item, error)
      }
    }
  }

  /** Returns what prevented some of it. References are cleared first: if that is refused, the item keeps all that refers to it. */
  async #removeDependents(item: Item, { found }: CascadeTooLarge): Promise<ApiError | undefined> {
    const key = keyOf(item)
    this.#begun.add(key)
    try {
      let blocked = await this.#clearReferences(item)
      if (blocked !== undefined) return blocked
      // What was found last has the fewest items that refer to it.
      for (const { collection, id } of found.slice(1).reverse()) {
        const other = { collection: collection.name, id }
        if (!this.#begun.has(keyOf(other))) blocked = (await this.#attemptRemoval(other)) ?? blocked
      }
      return blocked
    } finally {
      this.#begun.delete(key)
    }
  }

  async #attemptRemoval(item: Item): Promise<ApiError | undefined> {
    const refused = this.#refused.get(keyOf(item))
    if (refused?.count === this.count) return refused.error
    const error = await this.#attempt(() => this.#remove(item))
    if (error !== undefined) this.#refused.set(keyOf(item), { count: this.count, error })
    return error
  }

  async #removeAtOnce({ collection, id }: Item, maxItems?: number): Promise<void> {
    const shape = this.#shape(`delete ${collection} ${maxItems}`, () =>
      maxItems === undefined ? deleteShape(collection) : { ...deleteShape(collection), maxItems },
    )
    await this.#run.write({ shape, args: [id] }, this.#principal)
  }

  /** Returns the refusal for an item that is not deleted itself. */
  async #clearReferences({ collection, id }: Item): Promise<ApiError | undefined> {
    for (const reference of referencesTo({ name: collection }, this.#model)) {
      if (reference.onDelete !== 'clear') continue
      const refused = await this.#clear(reference.collection.name, reference.field.name, id)
      if (refused !== undefined) return refused
    }
    return undefined
  }

  async #clear(collection: string, field: string, id: number): Promise<ApiError | undefined> {
    const list = this.#shape(`list ${collection} ${field}`, () => listShape(collection, ['id'], where(field)))
    const shape = this.#shape(`clear ${collection} ${field}`, () => updateShape(collection, [field]))
    for (let skipped = 0; ; ) {
      const { text } = await this.#run.list({ shape: list, args: [skipped, pageItems, id] }, this.#principal)
      const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
      if (items.length === 0) return undefined
      for (const item of items) {
        await this.#beforeSlice?.(this)
        const refused = await this.#attempt(async () => {
          await this.#run.write({ shape, args: [item.id, null] }, this.#principal)
        })
        if (refused === undefined) continue
        // A rule may refuse for an item that is deleted later.
        if (!(await this.#isDeletedToo({ collection, id: item.id }))) return refused
        skipped++
      }
    }
  }

  async #isDeletedToo(item: Item): Promise<boolean> {
    return this.#root !== undefined && isDeletedWith(this.#run, this.#model, item, this.#root)
  }

  #shape<S extends DeleteShape | UpdateShape | ListShape>(key: string, create: () => S): S {
    const shape = (this.#shapes.get(key) as S | undefined) ?? create()
    this.#shapes.set(key, shape)
    return shape
  }

  /** Returns the error of a change that was refused as too large, or may be possible later. */
  async #attempt(change: () => Promise<void>): Promise<ApiError | undefined> {
    try {
      await change()
      this.count++
      return undefined
    } catch (error) {
      if (!isRefusal(error)) throw error
      // Another deletion was faster.
      if (error.code === 'NOT_FOUND') return undefined
      if (error instanceof CascadeTooLarge || this.#retriesBlocked) return error
      throw error
    }
  }
}
