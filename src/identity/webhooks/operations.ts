/** The operations on a webhook besides its writes. */
import type { Principal } from '../../base/principal.ts'

/** All reject with the same `ApiError` as the API. The caller has checked that the principal may read and change the webhook. */
export interface WebhookOperations {
  /** Returns the new secret. */
  rotateSecret(id: number, principal: Principal): Promise<string>
  /** Resumes sending where it stopped. */
  enable(id: number, principal: Principal): Promise<void>
  /** Sends a test, and waits some seconds for its outcome. */
  test(id: number, principal: Principal): Promise<void>
  redeliver(id: number, deliveryId: number, principal: Principal): Promise<void>
}
