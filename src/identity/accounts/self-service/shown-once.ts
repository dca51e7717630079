/**
 * Stores new secrets until the next page shows them. The response to a form is a redirect, so that a reload creates nothing twice,
 * and the next page reads the secret once. Encrypted at rest: see `encryptedKinds`.
 */
import type { EpochMs } from '../../../base/epoch-ms.ts'
import type { Records } from '../../../base/records.ts'
import type { SessionInfo } from '../../server/server.ts'

const recordKind = 'ShownOnce'
/** Longer than a redirect takes. */
const lifetimeMs = 2 * 60_000

export type ShownSecrets = Readonly<Record<string, string>>

export interface ShownOnce {
  /** `page`: the page that shows the secrets, e.g. `/account/keys/7`. Only the same session can read them. */
  keep(session: SessionInfo, page: string, secrets: ShownSecrets): Promise<void>
  /** Of several concurrent calls, at most one gets the secrets; later calls get undefined. */
  take(session: SessionInfo, page: string): Promise<ShownSecrets | undefined>
}

export function createShownOnce(records: Records, now: () => EpochMs): ShownOnce {
  const idOf = ({ id }: SessionInfo, page: string) => `${id} ${page}`
  return {
    keep: (session, page, secrets) =>
      records.put({
        kind: recordKind,
        id: idOf(session, page),
        payload: JSON.stringify(secrets),
        expiresAt: now() + lifetimeMs,
        owner: String(session.userId),
      }),
    async take(session, page) {
      const id = idOf(session, page)
      const record = await records.get(recordKind, id)
      if (!record || !(await records.delete(recordKind, id))) return undefined
      return JSON.parse(record.payload)
    },
  }
}
