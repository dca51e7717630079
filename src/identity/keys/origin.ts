/**
 * What an API key descends from. It ends with the OAuth grant of the app that created it or a key before it. It does not end
 * with a key that created it: a program may replace its own key.
 */

import { type Awaitable, then } from '../../base/awaitable.ts'
import { ApiError } from '../../base/errors.ts'
import type { Principal } from '../../base/principal.ts'
import type { Run } from '../../engine/plan/run.ts'
import {
  itemShape,
  listShape,
  readAllStored,
  readItem,
  selected,
  where,
} from '../../engine/plan/system-plans.ts'
import type { JsonObject } from '../../model/fields/type.ts'

/** The internal fields of a key that say where it comes from. */
export interface KeyOrigin {
  /** As `Principal.grant`, of an OAuth grant. */
  readonly grant: string | null
  readonly app_id: number | null
  /** The ids of the keys that it descends from, its creator last; without those that were deleted before it was created. */
  readonly ancestors: readonly number[] | null
}

export const originFields: readonly (keyof KeyOrigin)[] = ['grant', 'app_id', 'ancestors']

const originById = itemShape('api_keys', originFields)
const originsOfUser = listShape('api_keys', ['id', ...originFields], where('user_id'))

interface UserKey extends KeyOrigin {
  readonly id: number
}

/** The values of `KeyOrigin` for a key that the principal creates. Throws UNAUTHORIZED if its own key is gone. */
export function originOf(run: Run, { userId, grant, app, access }: Principal): Awaitable<JsonObject> {
  const thirdParty = access.thirdParty ? { third_party: true } : {}
  const [kind, name] = grant?.split(':') ?? []
  if (kind === undefined) return thirdParty
  if (kind !== 'key') return { ...thirdParty, grant, app_id: app?.id ?? null }
  const creatorId = Number(name)
  return then(readItem<KeyOrigin>(run, originById, creatorId), async creator => {
    if (creator === undefined) throw new ApiError('UNAUTHORIZED')
    const ancestors = await remaining(run, Number(userId), creator.ancestors ?? [])
    return {
      ...{ ...thirdParty, grant: creator.grant, app_id: creator.app_id },
      ancestors: [...ancestors, creatorId],
    }
  })
}

/** The keys that still exist: a chain of replaced keys does not grow. */
async function remaining(run: Run, userId: number, ids: readonly number[]): Promise<readonly number[]> {
  if (ids.length === 0) return []
  const existing = new Set((await readAllStored<UserKey>(run, originsOfUser, userId)).map(({ id }) => id))
  return ids.filter(id => existing.has(id))
}

/** Who created a key, if not its user. */
export interface KeyCreator {
  /** The app that created it, or a key before it; null: an app without a name here, such as one that registered itself. */
  readonly app: string | null | undefined
  /** The id of the key that created it, which may be gone. */
  readonly keyId: number | undefined
}

const creatorsShape = listShape(
  'api_keys',
  [
    'id',
    ...originFields,
    { kind: 'relation', key: 'app', relation: 'app', select: selected(['name']), list: undefined },
  ],
  where('user_id'),
)

interface CreatedKey extends UserKey {
  readonly app: { readonly name: string } | null
}

/** The creators of a user's keys, by key, without those that the user created. */
export async function creatorsOf(run: Run, userId: number): Promise<ReadonlyMap<number, KeyCreator>> {
  const keys = await readAllStored<CreatedKey>(run, creatorsShape, userId)
  const creators = keys.map(({ id, grant, app, ancestors }): readonly [number, KeyCreator] => {
    const appName = grant === null ? undefined : (app?.name ?? null)
    return [id, { app: appName, keyId: ancestors?.at(-1) }]
  })
  return new Map(creators.filter(([, { app, keyId }]) => app !== undefined || keyId !== undefined))
}

/** The ids of what was created with a key, or with a key that descends from it. */
export interface Descendants {
  readonly keys: readonly number[]
  readonly webhooks: readonly number[]
}

const webhooksOfUser = listShape('webhooks', ['id', 'grant'], where('user_id'))

export async function descendantsOf(run: Run, userId: number, keyId: number): Promise<Descendants> {
  const [keys, webhooks] = await Promise.all([
    readAllStored<UserKey>(run, originsOfUser, userId),
    readAllStored<Pick<UserKey, 'id' | 'grant'>>(run, webhooksOfUser, userId),
  ])
  const descendants = keys.filter(({ ancestors }) => ancestors?.includes(keyId)).map(({ id }) => id)
  const grants = new Set([keyId, ...descendants].map(id => `key:${id}`))
  const created = webhooks.filter(({ grant }) => grant !== null && grants.has(grant))
  return { keys: descendants, webhooks: created.map(({ id }) => id) }
}
