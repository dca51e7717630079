/** The API keys of a user, all at once. */
import type { DeleteShape, ListShape } from '../../plan/plan.ts'
import type { Run } from '../../plan/run.ts'
import { system } from '../../principal.ts'

const ofUser: ListShape = {
  kind: 'list',
  collection: 'api_keys',
  within: undefined,
  filter: { kind: 'compare', field: 'user_id', operator: 'eq', param: 2 },
  search: undefined,
  sort: [],
  window: { kind: 'page', offset: 0, limit: 1, total: false },
  select: [{ kind: 'field', key: 'id', field: 'id' }],
}

const remove: DeleteShape = { kind: 'delete', collection: 'api_keys', id: 0, ifMatch: undefined }
const AT_ONCE = 1000

export async function removeKeys(run: Run, userId: number): Promise<void> {
  const answer = await run.list({ shape: ofUser, args: [0, AT_ONCE, userId] }, system)
  const rows: readonly { readonly id: number }[] = JSON.parse(answer.text ?? '[]')
  await Promise.all(rows.map(({ id }) => run.write({ shape: remove, args: [id] }, system)))
  if (rows.length === AT_ONCE) await removeKeys(run, userId)
}
