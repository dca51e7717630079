/** The grants that are in force: what was created with a grant, such as an API key or a webhook, ends with it. */
import { type Awaitable, then } from '../../../base/awaitable.ts'
import type { Records } from '../../../base/records.ts'
import type { AppRights } from '../clients/apps.ts'
import { grantHash } from '../tokens/deny-list.ts'
import { storedGrant } from './stored-grant.ts'

export interface GrantParts {
  readonly records: Records
  readonly rightsOfApp: (clientId: string) => Awaitable<AppRights | undefined>
}

/** The present rights of the app that has the grant; undefined if the grant or the app is gone. `hash`: see `grantHash`. */
export type RightsOfGrant = (userId: number, hash: string) => Awaitable<AppRights | undefined>

export function rightsOfGrant({ records, rightsOfApp }: GrantParts): RightsOfGrant {
  return (userId, hash) =>
    then(records.byOwner('Grant', String(userId)), grants => {
      const record = grants.find(({ id }) => grantHash(id) === hash)
      const clientId = record && storedGrant(record).clientId
      return clientId === undefined ? undefined : rightsOfApp(clientId)
    })
}
