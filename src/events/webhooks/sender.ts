/** What others ask of the sender of webhooks. */
export interface WebhookSender {
  /** Sends a test event to a webhook at once. Resolves with the id of its delivery when the attempt is over. */
  test(webhookId: number): Promise<number>
  /** Something may be sent that was not before: a webhook was enabled, or a delivery was added. */
  wake(webhookId: number): void
}
