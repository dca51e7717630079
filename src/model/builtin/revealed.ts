/** Secrets that only the response to a create contains, with their descriptions, by built-in collection. */
export const revealedByPortico: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  ['api_keys', { key: 'The key itself. Only the answer to its creation tells it.' }],
  [
    'oauth_apps',
    {
      client_secret: 'The secret of a confidential app. Only the answer to its creation tells it.',
    },
  ],
  ['oauth_app_secrets', { client_secret: 'The secret itself. Only the answer to its creation tells it.' }],
  [
    'webhooks',
    {
      secret:
        'The secret that deliveries are signed with, as Standard Webhooks write it. Only the answers to its creation and rotation tell it.',
    },
  ],
])

/** The collections whose creates do not always reveal a secret: a public app has none. */
export const sometimesRevealed: ReadonlySet<string> = new Set(['oauth_apps'])
