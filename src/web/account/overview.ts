/** The state of an account in numbers, for its first page. All reads are bounded. */
import type { EpochMs } from '../../base/epoch-ms.ts'
import { itemShape, listShape, readItem, where } from '../../engine/plan/system-plans.ts'
import { type AccountState, maxCounted } from '../pages/account/account.ts'
import type { RouteParts, Viewer } from './context.ts'
import { ownItems } from './self-service/self-service.ts'

const ownShapes = {
  keys: listShape('api_keys', ['id'], where('user_id')),
  apps: listShape('oauth_apps', ['id'], where('user_id')),
  webhooks: listShape('webhooks', ['id'], where('user_id')),
}

const createdById = itemShape('users', ['created_at'])

/** How many keys, apps, sessions and the like the user has, for the overview. */
export async function accountState(parts: RouteParts, viewer: Viewer): Promise<AccountState> {
  const { base, server, passkeys } = parts
  const { id, password_hash } = viewer.user
  const items = ownItems(parts, viewer)
  const count = async (shape: (typeof ownShapes)['keys']) => (await items.list(shape, maxCounted, id)).length
  const [ofPasskeys, codes, identities, sessions, connectedApps, keys, ownApps, webhooks] = await Promise.all(
    [
      passkeys.list(id),
      base.codes.isOn(id),
      base.identities.list(id),
      server.sessions(id),
      server.connectedAppCount(id),
      count(ownShapes.keys),
      count(ownShapes.apps),
      count(ownShapes.webhooks),
    ],
  )
  return {
    hasPassword: password_hash !== null,
    passkeys: ofPasskeys.length,
    codes,
    identities: identities.length,
    sessions: sessions.length,
    ...{ connectedApps, keys, ownApps, webhooks },
  }
}

/** When the account was created. */
export async function createdAt({ base }: RouteParts, { user }: Viewer): Promise<EpochMs | undefined> {
  const row = await readItem<{ readonly created_at: string }>(base.run, createdById, user.id)
  return row && Date.parse(row.created_at)
}
