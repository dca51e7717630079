/** The API keys of a user. */
import { ApiError } from '../../base/errors.ts'
import { system } from '../../base/principal.ts'
import type { ReadAnswer } from '../../engine/plan/answer.ts'
import type { DeleteShape } from '../../engine/plan/plan.ts'
import type { Run } from '../../engine/plan/run.ts'
import { deleteShape, listShape, readAllStored, where } from '../../engine/plan/system-plans.ts'
import { type ProgramSteps, planAs } from '../../engine/plan/transaction.ts'

const keysOfUser = listShape('api_keys', ['id'], where('user_id'))
const removal = deleteShape('api_keys')

/** The owner of a key, and when the key expires: ISO 8601 UTC; null: never. */
export interface KeyExpiry {
  readonly user_id: number
  readonly expires_at: string | null
}

const pageSize = 1000

/** The ids of all keys of a user. */
export async function keysOf(run: Run, userId: number): Promise<readonly number[]> {
  const keys = await readAllStored<{ readonly id: number }>(run, keysOfUser, userId)
  return keys.map(({ id }) => id)
}

/** Deletes all keys of a user, as steps of a serial transaction that deletes from `api_keys`. */
export function* removeKeysSteps(userId: number): ProgramSteps<void> {
  for (;;) {
    const { text } = (yield planAs(system, { shape: keysOfUser, args: [0, pageSize, userId] })) as ReadAnswer
    const keys: readonly { readonly id: number }[] = JSON.parse(text ?? '[]')
    for (const { id } of keys) yield planAs(system, { shape: removal, args: [id] })
    if (keys.length < pageSize) return
  }
}

/** Deletes a key, unless it is deleted already. */
export function removeKey(run: Run, id: number): Promise<void> {
  return removeItem(run, removal, id)
}

/** Deletes an item as the service, unless it is deleted already. */
export async function removeItem(run: Run, shape: DeleteShape, id: number): Promise<void> {
  try {
    await run.write({ shape, args: [id] }, system)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
  }
}
