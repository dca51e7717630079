/**
 * New secrets, stored until the next page shows them. A form is answered by a redirect, so that a reload creates nothing twice;
 * the page that follows reads the secret once. Encrypted at rest: see `encryptedKinds`.
 */
import type { Records } from '../../../records.ts'
import type { SessionInfo } from '../../server/server.ts'

const kind = 'ShownOnce'
/** Longer than a redirect takes. */
const keptMs = 2 * 60_000

export type Secrets = Readonly<Record<string, string>>

export interface ShownOnce {
  /** `what`: the page that shows the secrets, e.g. `/account/keys/7`. Only the same session can read them. */
  keep(session: SessionInfo, what: string, secrets: Secrets): Promise<void>
  /** Of several concurrent calls, at most one gets the secrets; later calls get undefined. */
  take(session: SessionInfo, what: string): Promise<Secrets | undefined>
}

export function createShownOnce(records: Records, now: () => number): ShownOnce {
  const idOf = ({ id }: SessionInfo, what: string) => `${id} ${what}`
  return {
    keep: (session, what, secrets) =>
      records.put({
        kind,
        id: idOf(session, what),
        payload: JSON.stringify(secrets),
        expiresAt: now() + keptMs,
        owner: String(session.userId),
      }),
    async take(session, what) {
      const id = idOf(session, what)
      const found = await records.get(kind, id)
      if (!found || !(await records.delete(kind, id))) return undefined
      return JSON.parse(found.payload)
    },
  }
}
