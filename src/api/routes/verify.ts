/** Checks the signatures of requests, as providers make them. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { EpochMs } from '../../base/epoch-ms.ts'
import { ApiError } from '../../base/errors.ts'
import type { Verify } from '../../model/types/route.ts'

type SignedRequest = Parameters<Verify['hmac']>[0]
type HmacOptions = Parameters<Verify['hmac']>[1]
type TimedOptions = Parameters<Verify['stripe']>[1]

const defaultToleranceSeconds = 300

/** The hashes that `hmac` accepts. */
const algorithms: ReadonlySet<string> = new Set(['sha1', 'sha256', 'sha384', 'sha512'])

/** A signature was missing, wrong or late. The client does not see the cause. */
export class SignatureRefused extends ApiError {
  constructor(reason: string) {
    super('UNAUTHORIZED', 'The request is not signed as this path requires.', { cause: new Error(reason) })
  }
}

interface Verification {
  readonly algorithm: string
  readonly encoding: 'hex' | 'base64'
  /** One of them must be that of a key. */
  readonly signatures: readonly string[]
  readonly keys: readonly (string | Buffer)[]
  /** The parts of the signed text; the last one is the body. */
  readonly signed: readonly (string | Uint8Array)[]
}

/** Compares every signature with that of every key, in a time that does not depend on which of them is right. */
function requireSignature({ algorithm, encoding, signatures, keys, signed }: Verification): void {
  let isRight = false
  for (const key of keys) {
    const hmac = createHmac(algorithm, key)
    for (const part of signed) hmac.update(part)
    const expected = Buffer.from(hmac.digest(encoding))
    for (const signature of signatures) {
      const given = Buffer.from(encoding === 'hex' ? signature.toLowerCase() : signature)
      const isEqual = given.length === expected.length && timingSafeEqual(given, expected)
      isRight = isEqual || isRight
    }
  }
  if (!isRight) throw new SignatureRefused('No signature is that of a secret.')
}

/** Throws a `TypeError` without a secret: anybody can make an HMAC with an empty key. */
function secretsOf(call: string, { secret }: TimedOptions): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(secret) ? secret : [secret]
  if (secrets.length > 0 && secrets.every(each => typeof each === 'string' && each !== '')) {
    return secrets as readonly string[]
  }
  throw new TypeError(`${call}: \`secret\` must be a non-empty text, or a list of them. Is its variable set?`)
}

function bodyOf(call: string, request: SignedRequest): Uint8Array {
  const { bytes } = Object(request) as SignedRequest
  if (bytes instanceof Uint8Array) return bytes
  throw new TypeError(`${call}: the first argument must be the \`request\` of the route.`)
}

function headerOf({ headers }: SignedRequest, name: string): string {
  const value = headers[name.toLowerCase()]
  if (value === undefined || value === '') throw new SignatureRefused(`The header ${name} is missing.`)
  return value
}

function requireTime(call: string, seconds: string, options: TimedOptions, now: EpochMs): void {
  const { toleranceSeconds = defaultToleranceSeconds } = options
  if (!(toleranceSeconds > 0)) throw new TypeError(`${call}: \`toleranceSeconds\` must be a positive number.`)
  if (!/^\d{1,12}$/.test(seconds)) throw new SignatureRefused('The signed time is no number of seconds.')
  const age = now / 1000 - Number(seconds)
  if (Math.abs(age) <= toleranceSeconds) return
  throw new SignatureRefused(
    `The signed time is ${Math.abs(Math.round(age))} s in the ${age > 0 ? 'past' : 'future'}.`,
  )
}

/** The values of `name` in a list such as `t=1,v1=…,v1=…`. */
function valuesIn(list: string, name: string): readonly string[] {
  return list.split(',').flatMap(part => {
    const [first, ...rest] = part.trim().split('=')
    return first === name ? [rest.join('=')] : []
  })
}

/** The key of a secret of Standard Webhooks: `whsec_` and the key in base64. */
function standardKey(secret: string): Buffer {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  if (key.length === 0) throw new TypeError('verify.standardWebhook: the secret must be `whsec_` and base64.')
  return key
}

/** `onVerified` is called when a signature was right. */
export function createVerify(now: () => EpochMs, onVerified: () => void): Verify {
  const require = (verification: Verification) => {
    requireSignature(verification)
    onVerified()
  }
  const hmac = (call: string, request: SignedRequest, options: HmacOptions) => {
    const { header, algorithm, encoding = 'hex', prefix = '' } = options
    if (!algorithms.has(algorithm) || !['hex', 'base64'].includes(encoding) || typeof header !== 'string') {
      throw new TypeError(
        `${call}: write \`header\`, \`algorithm\` (${[...algorithms].join(', ')}) and perhaps \`encoding\` (hex, base64).`,
      )
    }
    const [keys, body] = [secretsOf(call, options), bodyOf(call, request)]
    const value = headerOf(request, header)
    const signatures = value.startsWith(prefix) ? [value.slice(prefix.length)] : []
    require({ algorithm, encoding, signatures, keys, signed: [body] })
  }
  const sha256 = { algorithm: 'sha256' } as const
  return Object.freeze<Verify>({
    standardWebhook(request, options) {
      const call = 'verify.standardWebhook'
      const [keys, body] = [secretsOf(call, options).map(standardKey), bodyOf(call, request)]
      const id = headerOf(request, 'webhook-id')
      const seconds = headerOf(request, 'webhook-timestamp')
      const list = headerOf(request, 'webhook-signature').split(' ')
      requireTime(call, seconds, options, now())
      const signatures = list.flatMap(each => (each.startsWith('v1,') ? [each.slice(3)] : []))
      require({ ...sha256, encoding: 'base64', signatures, keys, signed: [`${id}.${seconds}.`, body] })
    },
    stripe(request, options) {
      const call = 'verify.stripe'
      const [keys, body] = [secretsOf(call, options), bodyOf(call, request)]
      const header = headerOf(request, 'stripe-signature')
      const [seconds = ''] = valuesIn(header, 't')
      requireTime(call, seconds, options, now())
      const signatures = valuesIn(header, 'v1')
      require({ ...sha256, encoding: 'hex', signatures, keys, signed: [`${seconds}.`, body] })
    },
    slack(request, options) {
      const call = 'verify.slack'
      const [keys, body] = [secretsOf(call, options), bodyOf(call, request)]
      const signature = headerOf(request, 'x-slack-signature')
      const seconds = headerOf(request, 'x-slack-request-timestamp')
      requireTime(call, seconds, options, now())
      const signatures = signature.startsWith('v0=') ? [signature.slice(3)] : []
      require({ ...sha256, encoding: 'hex', signatures, keys, signed: [`v0:${seconds}:`, body] })
    },
    github: (request, { secret }) =>
      hmac('verify.github', request, {
        ...sha256,
        ...{ header: 'x-hub-signature-256', prefix: 'sha256=', secret },
      }),
    shopify: (request, { secret }) =>
      hmac('verify.shopify', request, {
        ...sha256,
        ...{ header: 'x-shopify-hmac-sha256', encoding: 'base64', secret },
      }),
    hmac: (request, options) => hmac('verify.hmac', request, options),
  })
}
