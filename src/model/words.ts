/** Texts for people about collections. */

const builtinNames: ReadonlyMap<string, string> = new Map([
  ['api_keys', 'API keys'],
  ['oauth_apps', 'OAuth apps'],
  ['oauth_app_secrets', 'secrets of OAuth apps'],
  ['webhook_deliveries', 'deliveries of webhooks'],
])

/** The items of a collection, within a sentence, e.g. `blog posts`. */
export function itemsInWords({ name }: { readonly name: string }): string {
  return builtinNames.get(name) ?? name.replaceAll('_', ' ')
}

/** `a`, `a and b`, `a, b and c`. */
export function listed(words: readonly string[], locale = 'en-GB'): string {
  return new Intl.ListFormat(locale).format(words)
}

export function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}
