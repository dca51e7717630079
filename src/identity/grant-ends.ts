/** What ends with an OAuth grant: the API keys that descend from it, and the webhooks that were created with it. */

import { forwarding, type Records } from '../base/records.ts'
import type { Run } from '../engine/plan/run.ts'
import { deleteShape, listShape, readAll, readAllStored, where } from '../engine/plan/system-plans.ts'
import { removeItem } from './keys/user-keys.ts'
import { grantHash } from './server/tokens/deny-list.ts'
import { endWebhooks } from './webhooks/grants.ts'

const keysOfGrant = listShape('api_keys', ['id'], where('grant'))
const keyRemoval = deleteShape('api_keys')

/** Deletes a key as the service, and pauses the webhooks that were created with it. */
export async function endKey(run: Run, id: number): Promise<void> {
  await removeItem(run, keyRemoval, id)
  await endWebhooks(run, `key:${id}`)
}

/** `grant`: see `Principal.grant`. */
async function endGrant(run: Run, grant: string): Promise<void> {
  const keys = await readAllStored<{ readonly id: number }>(run, keysOfGrant, grant)
  for (const { id } of keys) await endKey(run, id)
  await endWebhooks(run, grant)
}

/**
 * Wraps `records` so that deleting a grant deletes its keys and pauses its webhooks. If a crash prevents that, the keys are
 * refused (`apiKeyReader`), and the next delivery finds that the grant has ended (`WebhookPrincipals`).
 */
export function withGrantEnds(records: Records, run: Run): Records {
  const end = (grants: readonly string[]) =>
    // The deletion has succeeded, so the caller gets no error.
    Promise.all(grants.map(grant => endGrant(run, `grant:${grantHash(grant)}`))).catch(() => undefined)
  return {
    ...forwarding(records),
    async delete(kind, id) {
      const deleted = await records.delete(kind, id)
      if (kind === 'Grant') await end([id])
      return deleted
    },
    async deleteGrant(grant) {
      const count = await records.deleteGrant(grant)
      await end([grant])
      return count
    },
    async deleteOwned(owner, kinds) {
      const grants = kinds.includes('Grant') ? await records.byOwner('Grant', owner) : []
      const count = await records.deleteOwned(owner, kinds)
      await end(grants.map(({ id }) => id))
      return count
    },
  }
}

interface Descendant {
  readonly grant: string | null
}

const ofUser = where('user_id')
const descendants = ['api_keys', 'webhooks'].map(name => listShape(name, ['grant'], ofUser))

/** The hashes of the OAuth grants that API keys and webhooks of a user depend on: see `grantHash`. */
export async function grantsInUse(run: Run, userId: number): Promise<ReadonlySet<string>> {
  const items = await Promise.all(descendants.map(shape => readAll<Descendant>(run, shape, userId)))
  const grants = items.flat().flatMap(({ grant }) => (grant?.startsWith('grant:') ? [grant] : []))
  return new Set(grants.map(grant => grant.slice('grant:'.length)))
}
