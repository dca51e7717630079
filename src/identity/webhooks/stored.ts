/** Webhooks as they are stored. */
import type { Awaitable } from '../../base/awaitable.ts'
import type { Run } from '../../engine/plan/run.ts'
import { itemShape, readItem } from '../../engine/plan/system-plans.ts'

export interface StoredWebhook {
  readonly id: number
  readonly user_id: number
  readonly types: readonly string[]
  readonly collections: readonly string[] | null
  /** Null: all. */
  readonly scopes: readonly string[] | null
  /** `Principal.grant` of the credential that created it, or last enabled it. */
  readonly grant: string | null
}

const byId = itemShape('webhooks', ['id', 'user_id', 'types', 'collections', 'scopes', 'grant'])

/** A webhook of any user; undefined if it does not exist. */
export function webhookById(run: Run, id: number): Awaitable<StoredWebhook | undefined> {
  return readItem<StoredWebhook>(run, byId, id)
}
