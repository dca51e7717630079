/** Limits of GraphQL's transports that are not settings. */

/** Every started 100 points of cost count as one request of the rate limit. */
export const costPerRequest = 100

export const transportLimits = {
  costPerRequest,
  /** The estimated memory of the document and the arguments of one open subscription. */
  maxSubscriptionBytes: 256 * 1024,
  /** The same of all open subscriptions of one caller, in each worker. Subscriptions with the same document count once. */
  maxCallerBytes: 16 * 1024 * 1024,
  /** Concurrent operations on one WebSocket, subscriptions included. */
  maxOperations: 100,
}
