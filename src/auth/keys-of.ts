/** The API keys of a user. */
import { ApiError } from '../errors.ts'
import type { DeleteShape, ListShape } from '../plan/plan.ts'
import type { Run } from '../plan/run.ts'
import { system } from '../principal.ts'

/** Params: 0 the user, 1 offset, 2 limit. */
const ofUser: ListShape = {
  kind: 'list',
  collection: 'api_keys',
  within: undefined,
  filter: { kind: 'compare', field: 'user_id', operator: 'eq', param: 0 },
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 1, limit: 2, total: 'none' },
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

const remove: DeleteShape = { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined }
/** Read at once. */
const PAGE = 1000

/** The ids of all of them. */
export async function keysOf(run: Run, userId: number): Promise<readonly number[]> {
  const found: number[] = []
  for (;;) {
    const answer = await run.list({ shape: ofUser, args: [userId, found.length, PAGE] }, system)
    const rows: readonly { readonly id: number }[] = JSON.parse(answer.text ?? '[]')
    found.push(...rows.map(({ id }) => id))
    if (rows.length < PAGE) return found
  }
}

/** One that is gone already is gone. */
export async function removeKey(run: Run, id: number): Promise<void> {
  try {
    await run.write({ shape: remove, args: [id] }, system)
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') throw error
  }
}
