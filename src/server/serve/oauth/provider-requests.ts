/** Requests to sign-in providers: to public addresses, and to private ones if the provider's settings allow it. */

import { Outgoing } from '../../../delivery/outgoing/outgoing.ts'
import type { SendRequest } from '../../../identity/accounts/providers/provider-fetch.ts'

export interface ProviderRequests {
  send(allowPrivate: boolean): SendRequest
  /** Closes the connections. */
  close(): Promise<void>
}

export function providerRequests(): ProviderRequests {
  const toPublic = new Outgoing({ allowPrivate: false })
  const toAny = new Outgoing({ allowPrivate: true })
  return {
    send: allowPrivate => request => (allowPrivate ? toAny : toPublic).request(request),
    async close() {
      await Promise.all([toPublic.close(), toAny.close()])
    },
  }
}
