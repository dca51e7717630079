/** Secrets that only the response to a create contains, with their descriptions, by built-in collection. */
export const revealedSecrets: ReadonlyMap<string, Readonly<Record<string, string>>> = new Map<
  string,
  Readonly<Record<string, string>>
>([
  ['api_keys', { key: 'The key itself. Only the response that creates it contains it.' }],
  [
    'oauth_apps',
    {
      client_secret: 'The secret of a confidential app. Only the response that creates the app contains it.',
    },
  ],
  [
    'oauth_app_secrets',
    { client_secret: 'The secret itself. Only the response that creates it contains it.' },
  ],
  [
    'webhooks',
    {
      secret:
        'The secret that signs deliveries, in the format of Standard Webhooks. Only the responses that create or rotate it contain it.',
    },
  ],
])

/** The collections whose creates do not always reveal a secret: a public app has none. */
export const sometimesRevealed: ReadonlySet<string> = new Set(['oauth_apps'])
