/**
 * The difference that a listener sees of a change whose views have too many bytes for one answer. Each field is read alone, so
 * that an update is still told only for fields whose values differ for this listener.
 */

import { type Awaitable, then } from '../../base/awaitable.ts'
import type { ApiError } from '../../base/errors.ts'
import type { CompositeAnswer } from '../../engine/plan/answer.ts'
import { isTooLarge } from '../../engine/plan/answer-bound.ts'
import type { LoggedChange } from '../../engine/plan/change-feed.ts'
import type { CompositeShape } from '../../engine/plan/plan.ts'
import type { JsonObject } from '../../model/fields/type.ts'
import type { EventShapes } from './event-shapes.ts'

/** An item as a listener may read it; null if it may not. */
export type View = JsonObject | null

export interface Views {
  readonly after?: View
  readonly before?: View
  readonly was?: View
}

/** What a listener sees of a change. */
export interface Difference {
  readonly kind: 'changed' | 'left'
  /** Undefined: not an update. */
  readonly changed: readonly string[] | undefined
  readonly data: View
  /** The item is too large for an answer; `data` is null. */
  readonly truncated?: true
}

export interface LargeChange {
  readonly change: LoggedChange
  /** The shapes for some of the readable fields. */
  readonly shapesFor: (fields: readonly string[]) => EventShapes
  readonly fields: readonly string[]
  /** Throws ANSWER_TOO_LARGE. */
  readonly read: (shape: CompositeShape) => Awaitable<CompositeAnswer>
}

/** The result of `read`; that of `otherwise`, if an answer would be too large. */
export function unlessTooLarge<T>(
  read: () => Awaitable<T>,
  otherwise: (refusal: ApiError) => Awaitable<T>,
): Awaitable<T> {
  const recover = (error: unknown) => {
    if (isTooLarge(error)) return otherwise(error)
    throw error
  }
  try {
    const result = read()
    return result instanceof Promise ? result.catch(recover) : result
  } catch (error) {
    return recover(error)
  }
}

export async function readLargeDifference(large: LargeChange): Promise<Difference | null> {
  const { change, fields } = large
  const isUpdate = change.kind === 'updated' && change.type === null
  const { after = null, before = null } = await viewsOf(large, ['id'])
  if (after === null) return isUpdate && before ? { kind: 'left', changed: undefined, data: null } : null
  const changed = isUpdate ? await changedFields(large) : undefined
  if (changed?.length === 0) return null
  return unlessTooLarge<Difference>(
    () =>
      then(large.read(large.shapesFor(fields).row), ({ text }) => {
        const data: View = JSON.parse(text).after
        return { kind: 'changed', changed, data }
      }),
    () => ({ kind: 'changed', changed, data: null, truncated: true }),
  )
}

async function viewsOf({ change, shapesFor, read }: LargeChange, fields: readonly string[]): Promise<Views> {
  const { row, rows } = shapesFor(fields)
  const { text } = await read(change.before === null ? row : rows)
  return JSON.parse(text)
}

async function changedFields(large: LargeChange): Promise<readonly string[]> {
  const changed: string[] = []
  for (const field of large.fields) {
    const differs = await unlessTooLarge(
      async () => {
        const { after, before = null, was = before } = await viewsOf(large, [field])
        return JSON.stringify(was?.[field]) !== JSON.stringify(after?.[field])
      },
      // Values that are too large to be compared are those that the listener may read: a hidden one reads as null.
      () => large.change.changed?.includes(field) ?? false,
    )
    if (differs) changed.push(field)
  }
  return changed
}
