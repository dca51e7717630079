/** The API keys of a user. */
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
  window: { kind: 'page', offset: 1, limit: 2, total: false },
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

const remove: DeleteShape = { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined }
const AT_ONCE = 1000

/** All at once: after a reset nothing of before works. */
export async function removeKeys(run: Run, userId: number): Promise<void> {
  const answer = await run.list({ shape: ofUser, args: [userId, 0, AT_ONCE] }, system)
  const rows: readonly { readonly id: number }[] = JSON.parse(answer.text ?? '[]')
  await Promise.all(rows.map(({ id }) => run.write({ shape: remove, args: [id] }, system)))
  if (rows.length === AT_ONCE) await removeKeys(run, userId)
}
