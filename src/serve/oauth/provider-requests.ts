/** Requests to sign-in providers: to public addresses, and to private ones if the provider's settings allow it. */
import type { SendRequest } from '../../auth/accounts/providers/provider-fetch.ts'
import type { Outgoing } from '../../outgoing/outgoing.ts'

export interface ProviderRequests {
  send(allowPrivate: boolean): SendRequest
  /** Closes the connections. */
  close(): Promise<void>
}

/** Loads the HTTP client with the first request. */
export function providerRequests(): ProviderRequests {
  const opened = new Map<boolean, Outgoing>()
  const open = async (allowPrivate: boolean): Promise<Outgoing> => {
    const { Outgoing } = await import('../../outgoing/outgoing.ts')
    const outgoing = opened.get(allowPrivate) ?? new Outgoing({ allowPrivate })
    opened.set(allowPrivate, outgoing)
    return outgoing
  }
  return {
    send: allowPrivate => async request => (await open(allowPrivate)).request(request),
    async close() {
      await Promise.all([...opened.values()].map(outgoing => outgoing.close()))
      opened.clear()
    },
  }
}
