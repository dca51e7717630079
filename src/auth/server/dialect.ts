/**
 * The short dialect of OAuth 2.0 beside that of RFC 6749: requests without `response_type` or `grant_type`, and
 * scopes with commas, become what the library takes; its answers become what the short dialect expects.
 * Parameters that come twice are left alone, so that they are refused.
 */

export type Pairs = readonly (readonly [name: string, value: string])[]

export interface RequestRules {
  /** Our own resource identifiers (RFC 8707): every token is for them, so to name one changes nothing. */
  readonly resources: ReadonlySet<string>
  /** What a request of this client asks for when it names no scope. */
  readonly defaultScopes: (clientId: string) => Promise<readonly string[]> | readonly string[]
}

export function pairsOf(text: string): Pairs {
  return [...new URLSearchParams(text)]
}

export function textOf(pairs: Pairs): string {
  return new URLSearchParams(pairs.map(([name, value]) => [name, value])).toString()
}

/** RFC 6749, 3.1 and 3.2: nothing comes twice. There may be several resources, all different (RFC 8707, 2). */
export function doubled(pairs: Pairs): string | undefined {
  const seen = new Set<string>()
  for (const [name, value] of pairs) {
    const key = name === 'resource' ? `resource ${value}` : name
    if (seen.has(key)) return name
    seen.add(key)
  }
  return undefined
}

function has(pairs: Pairs, name: string): boolean {
  return pairs.some(([one]) => one === name)
}

function only(pairs: Pairs, name: string): string | undefined {
  const found = pairs.filter(([one]) => one === name)
  return found.length === 1 ? found[0]?.[1] : undefined
}

/** Scopes are separated by spaces (RFC 6749, 3.3), and here by commas too, which no scope of ours has. */
function spaced(scope: string): string {
  return scope
    .split(/[ ,]+/)
    .filter(one => one !== '')
    .join(' ')
}

function normalised(pairs: Pairs, { resources }: RequestRules): Pairs {
  const isDoubled = doubled(pairs) === 'resource'
  return pairs
    .filter(([name, value]) => name !== 'resource' || isDoubled || !resources.has(value.replace(/\/$/, '')))
    .map(([name, value]) => (name === 'scope' ? ([name, spaced(value)] as const) : [name, value]))
}

async function withScope(pairs: Pairs, { defaultScopes }: RequestRules): Promise<Pairs> {
  const clientId = only(pairs, 'client_id')
  if (clientId === undefined || pairs.some(([name, value]) => name === 'scope' && value !== '')) return pairs
  const scopes = await defaultScopes(clientId)
  if (scopes.length === 0) return pairs
  return [...pairs.filter(([name]) => name !== 'scope'), ['scope', scopes.join(' ')]]
}

function scopesIn(pairs: Pairs): readonly string[] {
  return pairs.flatMap(([name, value]) => (name === 'scope' ? value.split(' ') : []))
}

/**
 * An authorization request (RFC 6749, 4.1.1), also as it is pushed. A request for `openid` must name its
 * `response_type` (OpenID Connect Core, 3.1.2.1). Lasting access takes consent (11), so it is asked for.
 */
export async function authorizationRequest(sent: Pairs, rules: RequestRules): Promise<Pairs> {
  // What was pushed (RFC 9126) is whole already.
  if (has(sent, 'request_uri')) return sent
  // The library would take the only address that is registered.
  if (has(sent, 'redirect_uri') && !only(sent, 'redirect_uri')) {
    return [...sent.filter(([name]) => name !== 'redirect_uri'), ['redirect_uri', 'named twice, or empty']]
  }
  const pairs = await withScope(normalised(sent, rules), rules)
  const scopes = scopesIn(pairs)
  const added: [string, string][] = []
  if (!has(pairs, 'response_type') && !scopes.includes('openid')) added.push(['response_type', 'code'])
  if (!has(pairs, 'prompt') && scopes.includes('offline_access')) added.push(['prompt', 'consent'])
  return [...pairs, ...added]
}

/** A device authorization request (RFC 8628, 3.1). */
export function deviceRequest(sent: Pairs, rules: RequestRules): Promise<Pairs> {
  return withScope(normalised(sent, rules), rules)
}

/** A token request (RFC 6749, 4.1.3). */
export function tokenRequest(sent: Pairs, rules: RequestRules): Pairs {
  const pairs = normalised(sent, rules).filter(([name, value]) => name !== 'scope' || value !== '')
  if (has(pairs, 'grant_type')) return pairs
  const isShort = ['code', 'client_id', 'client_secret'].every(name => has(pairs, name))
  return isShort ? [...pairs, ['grant_type', 'authorization_code']] : pairs
}

/** The token response: `scope` joined by the separator, `token_type` in lower case (RFC 6749, 5.1 compares without case). */
export function tokenResponse(body: Record<string, unknown>, separator: ',' | ' '): Record<string, unknown> {
  const { scope, token_type: type } = body
  return {
    ...body,
    ...(typeof scope === 'string' ? { scope: scope.replaceAll(' ', separator) } : undefined),
    ...(type === 'Bearer' ? { token_type: 'bearer' } : undefined),
  }
}

/** Whether the client asks for a form in place of JSON, and says so. */
export function wantsForm(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const types = accept.split(',').map(part => part.split(';')[0]?.trim().toLowerCase())
  return types.includes('application/x-www-form-urlencoded') && !types.includes('application/json')
}

/** An answer as a form. */
export function formOf(body: Record<string, unknown>): string {
  const pairs = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  return textOf(pairs.map(([name, value]) => [name, String(value)]))
}
