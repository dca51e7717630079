/** Deletions in slices: see `portico delete`. */
import { ApiError } from '../../base/errors.ts'
import { service } from '../../base/principal.ts'
import type { Run } from '../../engine/plan/run.ts'
import { deleteShape, listShape, updateShape, where } from '../../engine/plan/system-plans.ts'
import { CascadeTooLarge } from '../../engine/store/write/removal/cascades.ts'
import type { Model } from '../../model/model.ts'
import type { OpenedModel } from './database.ts'

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

/** Deletes items whose deletion at once would be refused as too large: first what depends on them, in slices. */
export class SlicedDeletion {
  readonly #model: Model
  readonly #run: Run
  /** The items that are being deleted: they form cycles with items that refer to them. */
  readonly #begun = new Set<string>()
  /** How many items were deleted, or lost a reference, in slices of their own. */
  count = 0

  constructor({ model, run }: OpenedModel) {
    this.#model = model
    this.#run = run
  }

  /** Throws a `CascadeTooLarge` for cycles of more items than one deletion may delete. */
  async remove(collection: string, id: number): Promise<void> {
    try {
      await this.#removeAtOnce(collection, id)
    } catch (error) {
      if (!(error instanceof CascadeTooLarge)) throw error
      this.#begun.add(`${collection} ${id}`)
      for (const referring of referringTo(collection, this.#model)) await this.#detach(referring, id)
      await this.#removeAtOnce(collection, id)
    }
  }

  readonly #removeAtOnce = async (collection: string, id: number): Promise<void> => {
    await this.#run.write({ shape: deleteShape(collection), args: [id] }, service)
  }

  /** Deletes the items that refer to one by a cascading field, and clears the references of others. */
  async #detach({ collection, field, onDelete }: Referring, id: number): Promise<void> {
    if (onDelete === 'restrict') return
    const shape = listShape(collection, ['id'], where(field))
    for (let skipped = 0; ; ) {
      const { text } = await this.#run.list({ shape, args: [skipped, sliceItems, id] }, service)
      const items: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
      if (items.length === 0) return
      const isBegun = (item: { readonly id: number }) => this.#begun.has(`${collection} ${item.id}`)
      skipped += items.filter(isBegun).length
      const others = items.filter(item => !isBegun(item))
      const change = onDelete === 'cascade' ? this.#removeAtOnce : this.#clear
      const tooLarge = await Promise.all(
        others.map(item => this.#attempt(() => change(collection, item.id, field))),
      )
      for (const [index, item] of others.entries()) {
        if (!tooLarge[index]) continue
        await this.remove(collection, item.id)
        this.count++
      }
    }
  }

  readonly #clear = async (collection: string, id: number, field: string): Promise<void> => {
    await this.#run.write({ shape: updateShape(collection, [field]), args: [id, null] }, service)
  }

  /** Returns whether the change was refused as too large. */
  async #attempt(change: () => Promise<void>): Promise<boolean> {
    try {
      await change()
      this.count++
      return false
    } catch (error) {
      if (error instanceof CascadeTooLarge) return true
      // Another deletion was faster.
      if (error instanceof ApiError && error.code === 'NOT_FOUND') return false
      throw error
    }
  }
}
