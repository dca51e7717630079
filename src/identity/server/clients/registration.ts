/**
 * Dynamic registration (RFC 7591 and 7592) by the rules of `oauth_apps`. Only the metadata listed here reaches
 * oidc-provider. All other metadata is ignored, as RFC 7591, 2, allows, so that none makes this server send requests.
 */
import { ApiError } from '../../../base/errors.ts'
import { scopeSet } from '../../../base/principal.ts'
import type { Collection } from '../../../model/model.ts'
import { bodyValidator } from '../../../model/validate.ts'
import { requireName } from './app-name.ts'
import { requireAddresses } from './apps.ts'
import { deviceCodeGrant, isNative } from './client-metadata.ts'

type Metadata = Readonly<Record<string, unknown>>

/** The rules for registered metadata. */
interface Rules {
  /** The collection `oauth_apps`. */
  readonly apps: Collection
  /** The name of the service, which no app may have. */
  readonly serviceName: string
}

/** RFC 7591, 3.2.2. */
export interface RegistrationFault {
  readonly error: 'invalid_redirect_uri' | 'invalid_client_metadata'
  readonly description: string
}

export type Registration =
  | { readonly kind: 'accepted'; readonly metadata: Metadata }
  | { readonly kind: 'refused'; readonly fault: RegistrationFault }

const grantTypes = ['authorization_code', 'refresh_token', 'client_credentials', deviceCodeGrant]
const authenticationMethods = ['client_secret_basic', 'client_secret_post', 'none']
const signingAlgorithms = ['RS256', 'ES256']
const maxUris = 50

class MetadataRefusal extends Error {
  readonly fault: RegistrationFault

  constructor(error: RegistrationFault['error'], description: string) {
    super(description)
    this.fault = { error, description }
  }
}

function refuse(description: string): never {
  throw new MetadataRefusal('invalid_client_metadata', description)
}

function oneOf(metadata: Metadata, name: string, allowed: readonly string[]): string | undefined {
  const value = metadata[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string' && allowed.includes(value)) return value
  return refuse(`${name} must be one of ${allowed.join(', ')}`)
}

function flag(metadata: Metadata, name: string): boolean | undefined {
  const value = metadata[name]
  return typeof value === 'boolean' || value === undefined ? value : refuse(`${name} must be true or false`)
}

function listOf(metadata: Metadata, name: string, allowed: readonly string[]): readonly string[] | undefined {
  const value = metadata[name]
  if (value === undefined || value === null) return undefined
  if (Array.isArray(value) && value.length <= allowed.length && value.every(item => allowed.includes(item))) {
    return [...new Set<string>(value)]
  }
  return refuse(`${name} must be a list of some of ${allowed.join(', ')}`)
}

/** The metadata name of each field of `oauth_apps`. */
const names: Readonly<Record<string, string>> = {
  name: 'client_name',
  redirect_uris: 'redirect_uris',
  scopes: 'scope',
  logo_uri: 'logo_uri',
  homepage_uri: 'client_uri',
  policy_uri: 'policy_uri',
  tos_uri: 'tos_uri',
}

const uriRule =
  'each must be an https address, http on localhost, 127.0.0.1 or [::1], or of a scheme of its own with a dot in it, in lower case up to the path, with a port of at most 65535; no fragment, no user name, no spaces, at most 2048 characters, none twice'

/** Throws `Refused` with the message of `oauth_apps`. `metadataName`: returns the metadata name of a field. */
function checkAsApp(
  { apps, serviceName }: Rules,
  body: Metadata,
  metadataName: (field: string) => string,
): void {
  try {
    const { values } = bodyValidator(apps).create(body)
    requireName(values.name, serviceName)
    requireAddresses(values.redirect_uris)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const [fault] = error.details ?? []
    const field = fault?.field.split('/', 1)[0] ?? ''
    if (field === 'redirect_uris')
      throw new MetadataRefusal('invalid_redirect_uri', `${metadataName(field)}: ${uriRule}`)
    // RFC 6749, 5.2: printable ASCII without quotation marks and backslashes.
    const message = (fault?.message ?? error.message).replaceAll(/[^\x20-\x7e]|["\\]/g, "'")
    throw new MetadataRefusal('invalid_client_metadata', `${metadataName(field)}: ${message}`.slice(0, 500))
  }
}

function scopesOf({ scope }: Metadata): readonly string[] | undefined {
  if (scope === undefined || scope === null) return undefined
  if (typeof scope !== 'string' || scope.length > 4000)
    return refuse('scope must be a text with spaces between scopes')
  return [...scopeSet(scope)]
}

/** RFC 7591, 2: an app without a name is called by the host of its redirect URI. */
function nameOf({ client_name: name, redirect_uris: uris }: Metadata): unknown {
  if (name !== undefined && name !== null && name !== '') return name
  const [first] = Array.isArray(uris) ? uris : []
  return typeof first === 'string' && URL.canParse(first)
    ? new URL(first).host.slice(0, 100) || 'An app'
    : 'An app'
}

function uriList(metadata: Metadata, name: string): readonly string[] {
  const value = metadata[name] ?? []
  if (Array.isArray(value) && value.length <= maxUris) return value
  throw new MetadataRefusal('invalid_redirect_uri', `${name} must be a list of at most ${maxUris} addresses`)
}

function checkedGrants(metadata: Metadata, method: string, uris: readonly string[]): readonly string[] {
  const types = listOf(metadata, 'grant_types', grantTypes) ?? ['authorization_code', 'refresh_token']
  const responses = listOf(metadata, 'response_types', ['code'])
  const withCode = types.includes('authorization_code')
  if (responses !== undefined && responses.length > 0 !== withCode) {
    refuse('grant_types and response_types must fit together: authorization_code goes with code')
  }
  if (method === 'none' && types.includes('client_credentials')) {
    refuse('client_credentials needs a secret: token_endpoint_auth_method must not be none')
  }
  if (withCode && uris.length === 0) {
    throw new MetadataRefusal(
      'invalid_redirect_uri',
      'authorization_code needs at least one of redirect_uris',
    )
  }
  return types
}

function toMetadata(metadata: Metadata, rules: Rules): Metadata {
  const method = oneOf(metadata, 'token_endpoint_auth_method', authenticationMethods) ?? 'client_secret_basic'
  const uris = uriList(metadata, 'redirect_uris')
  const logoutUris = uriList(metadata, 'post_logout_redirect_uris')
  const { logo_uri: logo, client_uri: homepage, policy_uri: policy, tos_uri: terms } = metadata
  const scopes = scopesOf(metadata)
  const body = {
    name: nameOf(metadata),
    type: method === 'none' ? 'public' : 'confidential',
    redirect_uris: uris,
    ...(scopes && { scopes }),
    ...(logo !== undefined && { logo_uri: logo }),
    ...(homepage !== undefined && { homepage_uri: homepage }),
    ...(policy !== undefined && { policy_uri: policy }),
    ...(terms !== undefined && { tos_uri: terms }),
  }
  checkAsApp(rules, body, field => names[field] ?? field)
  checkAsApp(rules, { name: body.name, redirect_uris: logoutUris }, () => 'post_logout_redirect_uris')
  oneOf(metadata, 'subject_type', ['public'])
  const types = checkedGrants(metadata, method, uris)
  const optional = {
    logo_uri: logo,
    client_uri: homepage,
    policy_uri: policy,
    tos_uri: terms,
    id_token_signed_response_alg: oneOf(metadata, 'id_token_signed_response_alg', signingAlgorithms),
    dpop_bound_access_tokens: flag(metadata, 'dpop_bound_access_tokens'),
    require_pushed_authorization_requests: flag(metadata, 'require_pushed_authorization_requests'),
    scope: scopes?.join(' '),
  }
  return {
    client_name: body.name,
    application_type: isNative({ redirect_uris: uris }) ? 'native' : 'web',
    redirect_uris: uris,
    post_logout_redirect_uris: logoutUris,
    grant_types: types,
    response_types: types.includes('authorization_code') ? ['code'] : [],
    token_endpoint_auth_method: method,
    ...Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined && value !== null),
    ),
  }
}

/** The metadata to register, or why it is refused. */
export function checkedRegistration(rules: Rules, input: unknown): Registration {
  if (typeof input !== 'object' || input === null || Array.isArray(input)) {
    const description = 'the body must be a JSON object of client metadata'
    return { kind: 'refused', fault: { error: 'invalid_client_metadata', description } }
  }
  try {
    return { kind: 'accepted', metadata: toMetadata(input as Metadata, rules) }
  } catch (error) {
    if (error instanceof MetadataRefusal) return { kind: 'refused', fault: error.fault }
    throw error
  }
}
