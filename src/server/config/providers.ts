/** The setting `accounts.providers`: the providers with which people sign in. */
import { refuseCopyingMistakes, urlWithHost } from './copying-mistakes.ts'
import type { Kind } from './kinds.ts'

interface ProviderBase {
  /** The id in the provider's paths: `/account/sign-in/{id}`. */
  readonly id: string
  /** The name on its button. */
  readonly name: string
  readonly clientId: string
}

interface WithSecret extends ProviderBase {
  readonly clientSecret: string
}

export interface GoogleProvider extends WithSecret {
  readonly kind: 'google'
}

export interface GithubProvider extends WithSecret {
  readonly kind: 'github'
}

export interface MicrosoftProvider extends WithSecret {
  readonly kind: 'microsoft'
  /** `common`, `organizations`, `consumers`, or the id of one tenant. */
  readonly tenant: string
}

export interface AppleProvider extends ProviderBase {
  readonly kind: 'apple'
  readonly teamId: string
  readonly keyId: string
  /** The contents of Apple's `.p8` file: PEM (PKCS #8). */
  readonly privateKey: string
}

export interface OpenidProvider extends ProviderBase {
  readonly kind: 'oidc'
  /** A client without a secret is public. */
  readonly clientSecret?: string | undefined
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Whether the issuer may have a private address and use http. */
  readonly allowPrivate: boolean
}

export type ProviderSettings =
  | GoogleProvider
  | GithubProvider
  | MicrosoftProvider
  | AppleProvider
  | OpenidProvider

/** A provider as a program gives it: members with a default may be omitted. */
export type GivenProvider = ProviderSettings extends infer P
  ? P extends ProviderSettings
    ? Omit<P, Omittable> & Partial<Pick<P, Omittable & keyof P>>
    : never
  : never
type Omittable = 'id' | 'name' | 'tenant' | 'scopes' | 'allowPrivate'

/** The members of one provider's settings, not checked yet. */
type SettingMembers = Readonly<Record<string, unknown>>
type Check = (value: unknown) => boolean

const maxProviders = 20

const isText: Check = value => typeof value === 'string' && /^[^\p{Cc}]{1,500}$/u.test(value)
const isId: Check = value => typeof value === 'string' && /^[a-z][a-z0-9-]{0,29}$/.test(value)
const isName: Check = value => typeof value === 'string' && /^[^\p{Cc}]{1,40}$/u.test(value)
const tenant = /^(?:common|organizations|consumers|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/
const isTenant: Check = value => typeof value === 'string' && tenant.test(value)
const isKey: Check = value =>
  typeof value === 'string' &&
  /^-----BEGIN PRIVATE KEY-----[\sA-Za-z0-9+/=]+-----END PRIVATE KEY-----\s*$/.test(value)
const isScopes: Check = value =>
  Array.isArray(value) &&
  value.length <= 20 &&
  value.every(scope => isText(scope) && /^[!#-[\]-~]+$/.test(scope))
const isFlag: Check = value => typeof value === 'boolean'
const isIssuer: Check = value =>
  typeof value === 'string' &&
  /^[^\s?#@]+$/.test(value) &&
  urlWithHost(value, ['https:', 'http:']) !== undefined

const common = { kind: isText, id: isId, name: isName, clientId: isText }

interface ProviderKind {
  readonly required: Readonly<Record<string, Check>>
  readonly optional: Readonly<Record<string, Check>>
  readonly defaults: SettingMembers
}

const providerKinds: Readonly<Record<ProviderSettings['kind'], ProviderKind>> = {
  google: { required: { clientSecret: isText }, optional: {}, defaults: { id: 'google', name: 'Google' } },
  github: { required: { clientSecret: isText }, optional: {}, defaults: { id: 'github', name: 'GitHub' } },
  microsoft: {
    required: { clientSecret: isText },
    optional: { tenant: isTenant },
    defaults: { id: 'microsoft', name: 'Microsoft', tenant: 'common' },
  },
  apple: {
    required: { teamId: isText, keyId: isText, privateKey: isKey },
    optional: {},
    defaults: { id: 'apple', name: 'Apple' },
  },
  oidc: {
    required: { issuer: isIssuer },
    optional: { clientSecret: isText, scopes: isScopes, allowPrivate: isFlag },
    defaults: { scopes: ['openid', 'profile', 'email'], allowPrivate: false },
  },
}

/** Throws a `RangeError` with the place if the text was copied with what does not belong to it. */
function isValid(check: Check, member: unknown, place: string): boolean {
  try {
    if (typeof member === 'string' && check !== isName && check !== isKey) refuseCopyingMistakes(member)
    return check(member)
  } catch (error) {
    throw error instanceof RangeError ? new RangeError(`${place} ${error.message}`) : error
  }
}

/** Throws a `RangeError` that says what is wrong, without the value, which may be secret. */
function providerOf(value: unknown, index: number): ProviderSettings {
  const place = `provider ${index + 1}`
  if (typeof value !== 'object' || value === null) throw new RangeError(`${place} is not an object`)
  // An undefined member must not replace a default.
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  const declared: SettingMembers = Object.fromEntries(members)
  const { kind } = declared
  if (typeof kind !== 'string' || !Object.hasOwn(providerKinds, kind))
    throw new RangeError(`${place}: \`kind\` must be one of ${Object.keys(providerKinds).join(', ')}`)
  const { required, optional, defaults } = providerKinds[kind as ProviderSettings['kind']]
  const checks = { ...common, ...optional, ...required }
  for (const [name, member] of members) {
    const check = Object.hasOwn(checks, name) ? checks[name as keyof typeof checks] : undefined
    if (check === undefined)
      throw new RangeError(
        `${place}: ${kind} has no \`${name.slice(0, 50)}\`; it has ${Object.keys(checks).join(', ')}`,
      )
    if (!isValid(check, member, `${place}: \`${name}\``))
      throw new RangeError(`${place}: \`${name}\` is not valid`)
  }
  const complete: SettingMembers = { ...defaults, ...declared }
  const missing = ['id', 'name', 'clientId', ...Object.keys(required)].find(
    name => complete[name] === undefined,
  )
  if (missing !== undefined) throw new RangeError(`${place}: ${kind} needs \`${missing}\``)
  const provider = complete as unknown as ProviderSettings
  if (provider.kind === 'oidc' && !provider.allowPrivate && !provider.issuer.startsWith('https:'))
    throw new RangeError(`${place}: \`issuer\` must be an https URL, unless \`allowPrivate\` is true`)
  return provider
}

function providersOf(value: unknown): readonly ProviderSettings[] | undefined {
  if (!Array.isArray(value)) return undefined
  if (value.length > maxProviders) throw new RangeError(`there are more than ${maxProviders} providers`)
  const providers = value.map(providerOf)
  const ids = providers.map(({ id }) => id)
  const duplicate = ids.find((id, index) => ids.indexOf(id) !== index)
  if (duplicate !== undefined) throw new RangeError(`two providers have the \`id\` ${duplicate}`)
  return providers
}

export const providerList: Kind<readonly ProviderSettings[]> = {
  expected: 'a list of providers, e.g. `[{ "kind": "google", "clientId": "…", "clientSecret": "…" }]`',
  fromText: text => {
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      return undefined
    }
    return providersOf(value)
  },
  fromValue: providersOf,
}
