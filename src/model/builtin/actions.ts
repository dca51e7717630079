/** Operations on items of built-in collections besides reading and writing them, and items that are read within others. */

export interface BuiltinAction {
  /** The last segment of its path, `/{collection}/{id}/{name}`. */
  readonly name: string
  /** It is done to an item that the collection's item reaches by this relation: `/{collection}/{id}/{within}/{n}/{name}`. */
  readonly within?: string
  readonly summary: string
  /** What clients call it where its name and the item's do not make a good one. */
  readonly operation?: string
  /** The collection of the item that it answers with. */
  readonly answers: string
  /** Whether the answer also has the secrets that a create's answer has. */
  readonly reveals?: true
}

/** By collection. Whoever may change the item may do them. */
export const builtinActions: ReadonlyMap<string, readonly BuiltinAction[]> = new Map([
  [
    'webhooks',
    [
      {
        name: 'rotate_secret',
        operation: 'rotate_webhook_secret',
        summary: 'Replace the secret; the former one signs beside it for a while',
        answers: 'webhooks',
        reveals: true,
      },
      { name: 'test', summary: 'Send a test event now', answers: 'webhook_deliveries' },
      {
        name: 'enable',
        summary: 'Resume sending, from where it stopped',
        answers: 'webhooks',
      },
      {
        name: 'redeliver',
        within: 'deliveries',
        summary: 'Send an event again',
        answers: 'webhook_deliveries',
      },
    ],
  ],
])

/** Relations whose items can be read at `/{collection}/{id}/{relation}/{n}`, by collection. */
export const nestedRelations: ReadonlyMap<string, readonly string[]> = new Map([['webhooks', ['deliveries']]])
