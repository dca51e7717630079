/** Random values, and PKCE (RFC 7636). */

export function randomSecret(): string {
  return base64Url(crypto.getRandomValues(new Uint8Array(32)))
}

/** The challenge of the method S256. Browsers have Web Crypto only on HTTPS and localhost: throws elsewhere. */
export async function challengeOf(verifier: string): Promise<string> {
  if (!crypto.subtle)
    throw new TypeError('Sign-in requires a page that is served over HTTPS or from localhost.')
  return base64Url(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier))))
}

function base64Url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
}
