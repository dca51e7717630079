/** Deletions of items that one transaction may not delete: see `portico delete`, and the deletion of accounts. */
import { ApiError } from '../../base/errors.ts'
import { type Principal, service } from '../../base/principal.ts'
import { CascadeTooLarge } from '../../engine/plan/cascade-too-large.ts'
import type { Run } from '../../engine/plan/run.ts'
import { deleteShape, listShape, updateShape, where } from '../../engine/plan/system-plans.ts'
import type { Model } from '../../model/model.ts'

/** How many items are deleted or changed at once. Each is a transaction of its own, so other writes come in between. */
const sliceItems = 100

/** A field by which the items of a collection refer to others. */
interface Referring {
  readonly collection: string
  readonly field: string
  readonly onDelete: 'restrict' | 'cascade' | 'clear'
}

function referringTo(target: string, { collections }: Model): readonly Referring[] {
  return [...collections.values()].flatMap(({ name, fields }) =>
    [...fields.values()].flatMap(({ name: field, reference }) =>
      reference?.target === target ? [{ collection: name, field, onDelete: reference.onDelete }] : [],
    ),
  )
}

interface DeletionParts {
  readonly model: Model
  readonly run: Run
  /** Default: the service. */
  readonly principal?: Principal
  /** Called before each slice. What it throws ends the deletion, which another one continues. */
  readonly beforeSlice?: () => Promise<void>
  /**
   * An item that others prevent from being deleted is tried again after the others, which may be among those that are deleted.
   * Otherwise the first one ends the deletion.
   */
  readonly retriesBlocked?: boolean
}

/** Deletes items whose deletion at once would be refused as too large: first what depends on them, in slices. */
export class SlicedDeletion {
  readonly #model: Model
  readonly #run: Run
  readonly #principal: Principal
  readonly #beforeSlice: DeletionParts['beforeSlice']
  readonly #retriesBlocked: boolean
  /** The items that are being deleted: they form cycles with items that refer to them. */
  readonly #begun = new Set<string>()
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
    try {
      await this.#removeAtOnce(collection, id)
    } catch (error) {
      if (!(error instanceof CascadeTooLarge)) throw error
      const key = `${collection} ${id}`
      this.#begun.add(key)
      await this.#detachAll(collection, id).finally(() => this.#begun.delete(key))
      await this.#removeAtOnce(collection, id)
    }
  }

  readonly #removeAtOnce = async (collection: string, id: number): Promise<void> => {
    await this.#run.write({ shape: deleteShape(collection), args: [id] }, this.#principal)
  }

  async #detachAll(collection: string, id: number): Promise<void> {
    for (let before = -1, blocked: ApiError | undefined; ; blocked = undefined) {
      for (const referring of referringTo(collection, this.#model))
        blocked = (await this.#detach(referring, id)) ?? blocked
      if (blocked === undefined) return
      if (this.count === before) throw blocked
      before = this.count
    }
  }

  /** Deletes the items that refer to one by a cascading field, and clears the references of others. Returns what prevented some of it. */
  async #detach({ collection, field, onDelete }: Referring, id: number): Promise<ApiError | undefined> {
    let blocked: ApiError | undefined
    if (onDelete === 'restrict') return blocked
    const shape = listShape(collection, ['id'], where(field))
    for (let skipped = 0; ; ) {
      await this.#beforeSlice?.()
      const { text } = await this.#run.list({ shape, args: [skipped, sliceItems, id] }, this.#principal)
      const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
      if (items.length === 0) return blocked
      const isBegun = (item: { readonly id: number }) => this.#begun.has(`${collection} ${item.id}`)
      skipped += items.filter(isBegun).length
      const others = items.filter(item => !isBegun(item))
      const change = onDelete === 'cascade' ? this.#removeAtOnce : this.#clear
      const errors = await Promise.all(
        others.map(item => this.#attempt(() => change(collection, item.id, field))),
      )
      for (const [index, item] of others.entries()) {
        const isTooLarge = errors[index] instanceof CascadeTooLarge
        const error = isTooLarge ? await this.#attempt(() => this.remove(collection, item.id)) : errors[index]
        if (error === undefined) continue
        blocked = error
        skipped++
      }
    }
  }

  readonly #clear = async (collection: string, id: number, field: string): Promise<void> => {
    await this.#run.write({ shape: updateShape(collection, [field]), args: [id, null] }, this.#principal)
  }

  /** Returns the error of a change that was refused as too large, or may be possible later. */
  async #attempt(change: () => Promise<void>): Promise<ApiError | undefined> {
    try {
      await change()
      this.count++
      return undefined
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      // Another deletion was faster.
      if (error.code === 'NOT_FOUND') return undefined
      if (error instanceof CascadeTooLarge || (this.#retriesBlocked && error.code === 'CONFLICT'))
        return error
      throw error
    }
  }
}
