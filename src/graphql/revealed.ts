/** What the answers to some creates of Portico's own collections tell once, by collection: a sentence each. */
export const revealedByPortico: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  ['api_keys', { key: 'The key itself. Only the answer to the mutation that made it tells it.' }],
  [
    'oauth_apps',
    {
      client_secret:
        'The secret of a confidential app. Only the answer to the mutation that made it tells it.',
    },
  ],
  [
    'oauth_app_secrets',
    { client_secret: 'The secret itself. Only the answer to the mutation that made it tells it.' },
  ],
])

/** Where an answer holds what was revealed: no field of it can have such a key, whatever its alias. */
export function revealedKey(name: string): string {
  return `revealed:${name}`
}
