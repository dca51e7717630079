/** What the owner of a webhook does with it, besides writing it. Carried out by the sender of the service. */
import type { Principal } from '../../principal.ts'

/** Each rejects with the `ApiError` with which the API refuses the same. The caller may read and change the webhook. */
export interface WebhookOperations {
  /** Returns the new secret. */
  rotateSecret(id: number, principal: Principal): Promise<string>
  /** Lets it send again, from where it stopped. */
  enable(id: number, principal: Principal): Promise<void>
  /** Sends a test, and waits some seconds for the answer. */
  test(id: number, principal: Principal): Promise<void>
  redeliver(id: number, deliveryId: number, principal: Principal): Promise<void>
}
