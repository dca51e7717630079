/** Kinds of settings: the texts of the environment and the values of a config file that each kind accepts. */
import { isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import { basePathOf, isAmbiguous } from '../../base/base-path.ts'
import { isLongerThan } from '../../base/unicode.ts'
import { refuseCopyingMistakes, urlWithHost } from './copying-mistakes.ts'
import { trustedNetworks } from './networks.ts'

/** `G`: the values that a config file or a program gives. */
export interface Kind<T, G = T> {
  /** The accepted values in words, after "must be". */
  readonly expected: string
  /** Returns undefined if the text is not of this kind. Throws a `RangeError` with a more precise message. */
  fromText(text: string): T | undefined
  /** The same for the value of a config file or argument. */
  fromValue(value: unknown): T | undefined
  /** Never set: it carries the type. */
  readonly given?: G
}

export function integer(min: number, max: number): Kind<number> {
  const parse = (value: unknown) =>
    Number.isInteger(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined
  return {
    expected: `a whole number from ${min} to ${max}`,
    fromText: text => (/^\d{1,15}$/.test(text) ? parse(Number(text)) : undefined),
    fromValue: parse,
  }
}

const count = integer(1, 256)
const processors = () => Math.min(256, availableParallelism())

export const workers: Kind<number> = {
  expected: '`auto`, or a whole number from 1 to 256',
  fromText: text => (text === 'auto' ? processors() : count.fromText(text)),
  fromValue: value => (value === 'auto' ? processors() : count.fromValue(value)),
}

export const flag: Kind<boolean> = {
  expected: '`true` or `false`',
  fromText: text =>
    text === 'true' || text === 'on' || text === '1' ? true : isOff(text) ? false : undefined,
  fromValue: value => (typeof value === 'boolean' ? value : undefined),
}

export function isOff(text: string): boolean {
  return text === 'false' || text === 'off' || text === '0'
}

export const text: Kind<string> = {
  expected: 'a text that is not empty',
  fromText: value => (value === '' ? undefined : value),
  fromValue: value => (typeof value === 'string' && value !== '' ? value : undefined),
}

function pathText(value: unknown): string | undefined {
  if (typeof value !== 'string' || value === '') return undefined
  refuseCopyingMistakes(value)
  if (value.startsWith('~')) throw new RangeError('begins with `~`, which only shells expand: write the path')
  return value.includes('://') ? undefined : value
}

export const path: Kind<string> = {
  expected: 'the path of a file, e.g. `./model.ts` or `/etc/portico/model.ts`',
  fromText: pathText,
  fromValue: pathText,
}

/** A host name or an address, IPv6 without brackets. */
function hostText(value: unknown): string | undefined {
  return typeof value === 'string' && (/^[\w.-]+$/.test(value) || isIPv6(value)) ? value : undefined
}

export const host: Kind<string> = {
  expected: 'a host name or an address such as `127.0.0.1` or `::`, without scheme and port',
  fromText: hostText,
  fromValue: hostText,
}

/** The same maximum as for accounts. */
const maxPasswordCharacters = 256

function passwordText(value: unknown): string | undefined {
  const isText = typeof value === 'string' && value !== ''
  return isText && !isLongerThan(value, maxPasswordCharacters) ? value : undefined
}

export const password: Kind<string> = {
  expected: `a text of at most ${maxPasswordCharacters} characters that is not empty`,
  fromText: passwordText,
  fromValue: passwordText,
}

export function choice<const T extends string>(...values: readonly T[]): Kind<T> {
  const choiceOf = (value: unknown) => values.find(candidate => candidate === value)
  return {
    expected: `one of ${values.map(value => `\`${value}\``).join(', ')}`,
    fromText: choiceOf,
    fromValue: choiceOf,
  }
}

function webAddress(value: unknown): string | undefined {
  if (typeof value !== 'string' || /[\s?#]/.test(value.trim())) return undefined
  if (urlWithHost(value, ['https:', 'http:']) === undefined) return undefined
  if (isAmbiguous(basePathOf(value)))
    throw new RangeError(
      'has a path that begins with one of the service itself: choose another, such as `/backend`',
    )
  return value.replace(/\/+$/, '')
}

export const origin: Kind<string> = {
  expected: 'an address such as `https://api.example.com`, without query or fragment',
  fromText: webAddress,
  fromValue: webAddress,
}

function emailAddress(value: unknown): string | undefined {
  if (typeof value === 'string') refuseCopyingMistakes(value)
  return typeof value === 'string' && /^[^\s@]{1,64}@[^\s@]{1,190}$/.test(value)
    ? value.toLowerCase()
    : undefined
}

export const email: Kind<string> = {
  expected: 'an e-mail address',
  fromText: emailAddress,
  fromValue: emailAddress,
}

/** RFC 9110, 5.6.2. */
function tokenName(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(value) ? value : undefined
}

export const headerName: Kind<string> = {
  expected: 'the name of a header, such as `CF-IPCountry`',
  fromText: tokenName,
  fromValue: tokenName,
}

/** `false`: no proxy is trusted; a number: this many proxies are in front; a list: proxies at these addresses or networks. */
export type TrustProxy = false | number | readonly string[]

function networks(value: readonly unknown[]): TrustProxy | undefined {
  const entries = value.filter(entry => typeof entry === 'string')
  if (entries.length !== value.length || entries.length === 0) return undefined
  trustedNetworks(entries)
  return entries
}

const proxies = integer(1, 100)

export const trustProxy: Kind<TrustProxy> = {
  expected: '`false`, a number of proxies, or a list of their addresses and networks such as `10.0.0.0/8`',
  fromText: value => {
    if (isOff(value)) return false
    if (/^\d+$/.test(value)) return proxies.fromText(value)
    return networks(value.split(',').map(entry => entry.trim()))
  },
  fromValue: value => {
    if (value === false) return false
    return Array.isArray(value) ? networks(value) : proxies.fromValue(value)
  },
}

/** Includes base64, as `openssl rand -base64 32` prints it. */
const longKey = /^[A-Za-z0-9._~+/=-]{32,200}$/

function keyList(value: unknown): readonly string[] | undefined {
  const list = Array.isArray(value) ? value : [value]
  return list.length > 0 && list.every(key => typeof key === 'string' && longKey.test(key)) ? list : undefined
}

export const secretKeyList: Kind<readonly string[]> = {
  expected:
    'a random key of at least 32 letters, digits or characters of `._~+/=-`, or several of them (separated by commas in the variable); `portico secrets generate` prints one',
  fromText: value => keyList(value.split(',').map(key => key.trim())),
  fromValue: keyList,
}

/** The characters of a bearer token (RFC 6750, 2.1). */
function token(value: unknown): string | undefined {
  return typeof value === 'string' && /^[A-Za-z0-9._~+/-]{16,200}$/.test(value) ? value : undefined
}

export const apiKey: Kind<string> = {
  expected: '16 to 200 letters, digits or characters of `._~+/-`',
  fromText: token,
  fromValue: token,
}
