/**
 * The parameters of a request as oidc-provider expects them. Apps may omit `response_type` and `grant_type` and separate
 * scopes by commas, as in GitHub's dialect of OAuth. Repeated parameters stay repeated, so that the request is refused.
 */
import { impliedConsent } from '../consent/first-party.ts'
import type { Parameters } from './form.ts'

export interface RequestRules {
  /** Our own resource identifiers (RFC 8707). Every token is for them, so naming one changes nothing. */
  readonly resources: ReadonlySet<string>
  /** The scopes of this client's requests that name none. */
  readonly defaultScopes: (clientId: string) => Promise<readonly string[]> | readonly string[]
}

/** The first repeated parameter (RFC 6749, 3.1 and 3.2). `resource` may be repeated with different values (RFC 8707, 2). */
export function repeatedParameter(parameters: Parameters): string | undefined {
  const seen = new Set<string>()
  for (const [name, value] of parameters) {
    const key = name === 'resource' ? `resource ${value}` : name
    if (seen.has(key)) return name
    seen.add(key)
  }
  return undefined
}

function has(parameters: Parameters, name: string): boolean {
  return parameters.some(([candidate]) => candidate === name)
}

function singleValue(parameters: Parameters, name: string): string | undefined {
  const matches = parameters.filter(([candidate]) => candidate === name)
  return matches.length === 1 ? matches[0]?.[1] : undefined
}

/** RFC 6749, 3.3, separates scopes by spaces. Commas are accepted too: no scope contains one. */
function spaceSeparated(scope: string): string {
  return scope
    .split(/[ ,]+/)
    .filter(name => name !== '')
    .join(' ')
}

function normalized(parameters: Parameters, { resources }: RequestRules): Parameters {
  const isRepeated = repeatedParameter(parameters) === 'resource'
  return parameters
    .filter(([name, value]) => name !== 'resource' || isRepeated || !resources.has(value.replace(/\/$/, '')))
    .map(([name, value]) => (name === 'scope' ? ([name, spaceSeparated(value)] as const) : [name, value]))
}

async function withScope(
  parameters: Parameters,
  { defaultScopes }: RequestRules,
  clientId = singleValue(parameters, 'client_id'),
): Promise<Parameters> {
  if (clientId === undefined || parameters.some(([name, value]) => name === 'scope' && value !== ''))
    return parameters
  const scopes = await defaultScopes(clientId)
  if (scopes.length === 0) return parameters
  return [...parameters.filter(([name]) => name !== 'scope'), ['scope', scopes.join(' ')]]
}

function scopesIn(parameters: Parameters): readonly string[] {
  return parameters.flatMap(([name, value]) => (name === 'scope' ? value.split(' ') : []))
}

/**
 * An authorization request (RFC 6749, 4.1.1), pushed or not. A request for `openid` must name its `response_type`
 * (OpenID Connect Core, 3.1.2.1). `offline_access` needs consent (11), so the request gets `prompt=consent`; for a
 * first-party app it shows no page.
 */
export async function authorizationRequest(received: Parameters, rules: RequestRules): Promise<Parameters> {
  const sent = received.filter(([name]) => name !== impliedConsent)
  // A pushed request (RFC 9126) was completed when it was pushed.
  if (has(sent, 'request_uri')) return sent
  // For an empty or repeated one, oidc-provider would use the only registered redirect URI.
  if (has(sent, 'redirect_uri') && !singleValue(sent, 'redirect_uri')) {
    return [...sent.filter(([name]) => name !== 'redirect_uri'), ['redirect_uri', 'repeated or empty']]
  }
  const parameters = await withScope(normalized(sent, rules), rules)
  const scopes = scopesIn(parameters)
  const added: [string, string][] = []
  if (!has(parameters, 'response_type') && !scopes.includes('openid')) added.push(['response_type', 'code'])
  if (!has(parameters, 'prompt') && scopes.includes('offline_access')) {
    added.push(['prompt', 'consent'], [impliedConsent, 'yes'])
  }
  return [...parameters, ...added]
}

/** A device authorization request (RFC 8628, 3.1). `authenticating`: the client id of HTTP Basic credentials. */
export function deviceRequest(
  sent: Parameters,
  rules: RequestRules,
  authenticating?: string,
): Promise<Parameters> {
  return withScope(normalized(sent, rules), rules, authenticating)
}

/** A token request (RFC 6749, 4.1.3). */
export function tokenRequest(sent: Parameters, rules: RequestRules): Parameters {
  const parameters = normalized(sent, rules).filter(([name, value]) => name !== 'scope' || value !== '')
  if (has(parameters, 'grant_type')) return parameters
  const isGitHubStyle = ['code', 'client_id', 'client_secret'].every(name => has(parameters, name))
  return isGitHubStyle ? [...parameters, ['grant_type', 'authorization_code']] : parameters
}
