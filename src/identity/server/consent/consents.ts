/** Consents: the scopes that users have allowed apps, stored so that users are not asked again. */

import type Provider from 'oidc-provider'
import type { Context, Grant } from 'oidc-provider'
import type { EpochMs } from '../../../base/epoch-ms.ts'
import { hasScope } from '../../../base/principal.ts'
import type { Records } from '../../../base/records.ts'
import type { RecordChange } from '../../../engine/plan/transaction.ts'
import { appUseId, type LastUses } from '../../last-use.ts'
import { grantClaims, requestedScopes } from './claims.ts'
import { needsNoConsent } from './first-party.ts'
import { excessGrants, type GrantBoundParts } from './grant-bounds.ts'
import { storedGrant } from './stored-grant.ts'

const recordKind = 'Consent'

/** The app that gets a consent, and the session in which it is given. */
interface ConsentTarget {
  readonly clientId: string
  readonly sessionUid: string | undefined
}

export interface Consent {
  readonly clientId: string
  readonly scopes: readonly string[]
  readonly at: EpochMs
}

interface StoredConsent extends Consent {
  /** The session of the last consent. */
  readonly session?: string | undefined
}

/** A user of an app. The ids begin with the client id, so the users of an app are counted by a range of ids. */
const appUserKind = 'AppUser'

/** The kinds of records that give an app access to a user's data, or record that it has access. */
const accessKinds = [
  ...['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode', 'Grant'],
  ...[recordKind, appUserKind, 'AppUse'],
]
/** The kinds that store their session. */
const sessionKinds = ['AccessToken', 'RefreshToken', 'AuthorizationCode', 'DeviceCode']

function idOf(userId: number, clientId: string): string {
  return `${userId}:${clientId}`
}

const noGrants = async () => new Set<string>()

function userIdOf(userId: number, clientId: string): string {
  return `${clientId} ${userId}`
}

/** What users have allowed apps, and the grants that follow from it. */
export class Consents {
  readonly #records: Records
  readonly #grantsInUse: GrantBoundParts['grantsInUse']
  readonly #uses: Pick<LastUses, 'begin'> | undefined

  /** `grantsInUse` and `uses`: needed only where grants are made. */
  constructor(
    records: Records,
    grantsInUse: GrantBoundParts['grantsInUse'] = noGrants,
    uses?: Pick<LastUses, 'begin'>,
  ) {
    this.#records = records
    this.#grantsInUse = grantsInUse
    this.#uses = uses
  }

  async find(userId: number, clientId: string): Promise<Consent | undefined> {
    const record = await this.#records.get(recordKind, idOf(userId, clientId))
    return record && (JSON.parse(record.payload) as Consent)
  }

  async all(userId: number): Promise<readonly Consent[]> {
    const records = await this.#records.byOwner(recordKind, String(userId))
    return records.map(({ payload }) => JSON.parse(payload) as Consent)
  }

  /** The access of apps that hold grants without a consent: apps that are first-party, or were. */
  async withoutConsent(userId: number): Promise<readonly Consent[]> {
    const consented = new Set((await this.all(userId)).map(({ clientId }) => clientId))
    const grants = await this.#records.byOwner('Grant', String(userId))
    const accessByApp = new Map<string, Consent>()
    for (const { clientId, iat, scopes: granted } of grants.map(storedGrant)) {
      if (clientId === undefined || consented.has(clientId)) continue
      const previous = accessByApp.get(clientId)
      const scopes = new Set([...(previous?.scopes ?? []), ...granted])
      accessByApp.set(clientId, {
        clientId,
        scopes: [...scopes],
        at: Math.max(previous?.at ?? 0, iat * 1000),
      })
    }
    return [...accessByApp.values()]
  }

  /** The client ids of apps that the user has given consent, or that have used their access. */
  async clientIds(userId: number): Promise<ReadonlySet<string>> {
    const owner = String(userId)
    const used = await this.#records.byOwner('AppUse', owner)
    const prefix = appUseId(owner, '')
    return new Set([
      ...(await this.all(userId)).map(({ clientId }) => clientId),
      ...used.map(({ id }) => id.slice(prefix.length)),
    ])
  }

  /** Replaces the consent to the `requested` scopes with the `allowed` ones. Stores nothing if the session has ended. */
  async remember(
    userId: number,
    target: ConsentTarget,
    requested: readonly string[],
    allowed: readonly string[],
  ): Promise<void> {
    const { clientId, sessionUid } = target
    // Another consent, or a revocation, may come between the read and the write.
    let isStored = false
    while (!isStored) isStored = await this.#replace(userId, target, requested, allowed)
    await this.noteUser(userId, clientId)
    if (sessionUid === undefined || (await this.#records.byAlias('Session', sessionUid))) return
    await this.#forget(userId, clientId)
  }

  /** Returns false if the consent was changed or revoked since it was read. */
  async #replace(
    userId: number,
    { clientId, sessionUid }: ConsentTarget,
    requested: readonly string[],
    allowed: readonly string[],
  ): Promise<boolean> {
    const id = idOf(userId, clientId)
    const record = await this.#records.get(recordKind, id)
    const previous: readonly string[] = record ? (JSON.parse(record.payload) as Consent).scopes : []
    const unaffected = previous.filter(scope => !requested.includes(scope))
    const consent: StoredConsent = {
      clientId,
      scopes: [...unaffected, ...allowed],
      at: Date.now(),
      session: sessionUid,
    }
    const payload = JSON.stringify(consent)
    if (record) return this.#records.swap(record, record.payload, payload)
    return this.#records.add({ kind: recordKind, id, payload, expiresAt: null, owner: String(userId) })
  }

  /** Counts the user as one of the app's users. */
  async noteUser(userId: number, clientId: string): Promise<void> {
    const id = userIdOf(userId, clientId)
    if (await this.#records.get(appUserKind, id)) return
    await this.#records.add({ kind: appUserKind, id, payload: '{}', expiresAt: null, owner: String(userId) })
  }

  /** How many users have connected an app, up to `limit`. */
  async countUsers(clientId: string, limit: number): Promise<number> {
    const users = await this.#records.after(appUserKind, `${clientId} `, limit)
    return users.filter(({ id }) => id.startsWith(`${clientId} `)).length
  }

  /** Whether the user is counted as one of the app's users. */
  async isUser(userId: number, clientId: string): Promise<boolean> {
    return (await this.#records.get(appUserKind, userIdOf(userId, clientId))) !== undefined
  }

  /** Revokes every grant of the app, and so every token. */
  async revoke(userId: number, clientId: string): Promise<void> {
    await this.beginRevocation(userId, clientId)
    await this.#records.delete(appUserKind, userIdOf(userId, clientId))
  }

  /** As `revoke`, except for the returned change: until it is made, `isUser` is true. */
  async beginRevocation(userId: number, clientId: string): Promise<readonly RecordChange[]> {
    await this.#records.delete(recordKind, idOf(userId, clientId))
    await this.#records.delete('AppUse', appUseId(userId, clientId))
    for (const record of await this.#records.byOwner('Grant', String(userId))) {
      if (storedGrant(record).clientId === clientId) await this.#endGrant(record.id)
    }
    return [{ kind: 'delete', key: { kind: appUserKind, id: userIdOf(userId, clientId) } }]
  }

  /** Call it when the app has got a grant: ends grants in excess of the limit. */
  async boundGrants(userId: number, clientId: string): Promise<void> {
    this.#uses?.begin({ kind: 'AppUse', id: appUseId(userId, clientId) })
    const parts = { records: this.#records, grantsInUse: this.#grantsInUse }
    for (const id of await excessGrants(parts, userId, clientId)) await this.#endGrant(id)
  }

  /** Revokes every token and pending code of the user, and deletes the consents. */
  async endAll(userId: number): Promise<void> {
    await this.#records.deleteOwned(String(userId), accessKinds)
  }

  /** As `endAll`, except for what was allowed in this session. */
  async endOthers(userId: number, session: string): Promise<void> {
    const owner = String(userId)
    const sessionGrants = await this.#grantsOf(owner, session)
    await this.#records.deleteOwned(owner, ['AppUse'])
    for (const { payload } of await this.#records.byOwner(recordKind, owner)) {
      const { clientId, session: consentSession } = JSON.parse(payload) as StoredConsent
      if (consentSession !== session) await this.#forget(Number(owner), clientId)
    }
    for (const { id } of await this.#records.byOwner('Grant', owner)) {
      if (!sessionGrants.has(id)) await this.#endGrant(id)
    }
  }

  /** The grants that were made in a session. */
  async #grantsOf(owner: string, session: string): Promise<ReadonlySet<string>> {
    const records = await Promise.all(sessionKinds.map(kind => this.#records.byOwner(kind, owner)))
    const sessionRecords = records.flat().filter(({ payload }) => JSON.parse(payload).sessionUid === session)
    return new Set(sessionRecords.flatMap(({ grant }) => (grant === null ? [] : [grant])))
  }

  async #forget(userId: number, clientId: string): Promise<void> {
    await this.#records.delete(recordKind, idOf(userId, clientId))
    await this.#records.delete(appUserKind, userIdOf(userId, clientId))
  }

  async #endGrant(id: string): Promise<void> {
    await this.#records.delete('Grant', id)
    await this.#records.deleteGrant(id)
  }
}

/** Whether the user has already allowed the app all of the scopes. `prompt=consent` asks again. */
async function isAllowed(
  consents: Consents,
  { oidc }: Context,
  scopes: readonly string[],
  accountId: string,
): Promise<boolean> {
  if (oidc.prompts.has('consent')) return false
  const before = await consents.find(Number(accountId), oidc.client.clientId)
  const allowed = new Set(before?.scopes)
  return scopes.every(scope => hasScope(allowed, scope))
}

/**
 * The grant of an authorization request: the one of the consent just given, or a new one if the user has already allowed
 * all of it, or the app is first-party. Each authorization has its own grant, so revoking one leaves the others in force.
 */
export async function loadGrant(
  provider: Provider,
  consents: Consents,
  ctx: Context,
): Promise<Grant | undefined> {
  const consented = ctx.oidc.result?.consent?.grantId
  if (consented !== undefined) return provider.Grant.find(consented)
  const { client, account } = ctx.oidc
  const scopes = requestedScopes(ctx.oidc.params)
  if (!account || scopes.length === 0) return undefined
  if (!needsNoConsent(ctx) && !(await isAllowed(consents, ctx, scopes, account.accountId))) return undefined
  const grant = new provider.Grant({ accountId: account.accountId, clientId: client.clientId })
  grant.addOIDCScope([...ctx.oidc.requestParamScopes].join(' '))
  grantClaims(grant, ctx.oidc.params.claims, scopes)
  await grant.save()
  await consents.boundGrants(Number(account.accountId), client.clientId)
  await consents.noteUser(Number(account.accountId), client.clientId)
  return grant
}
