/** The built-in collections besides `users`: only Portico sets their read-only fields, such as hashes of secrets. */
export const managedCollections: ReadonlySet<string> = new Set([
  'api_keys',
  'oauth_apps',
  'oauth_app_secrets',
  'webhooks',
  'webhook_deliveries',
  'uploads',
])
