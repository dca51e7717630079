/** Ordinary requests to the endpoints that programs call most: a form, and an app with its secret. */
import type { IncomingHttpHeaders } from 'node:http'
import type { AppRow, Apps } from './apps.ts'
import { secretHashes } from './apps.ts'
import { isSecretOf } from './clients.ts'
import { pairsOf } from './dialect.ts'

export interface Asking {
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

export type Form = Readonly<Partial<Record<string, string>>>

/** An ordinary request of an app that has shown its secret. */
export interface QuickRequest {
  readonly app: AppRow
  readonly form: Form
}

interface QuickParts {
  readonly apps: Apps
  /** See `OauthSettings`. */
  readonly secretOverlap: number
}

const isForm = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i
/** Headers that change what the library does. */
const special = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']
/** What the library makes of 256 random bits. */
export const opaque = /^[A-Za-z0-9_-]{43}$/
/** RFC 7617, 2, with an id and a secret of ours, in which nothing is escaped. */
const basic = /^Basic ([A-Za-z0-9+/]{20,200}={0,2})$/
const ownCredentials = /^(app_[A-Za-z0-9_-]{20}):(ps_[A-Za-z0-9_-]{43})$/

/** What every answer has that the library makes. */
export const quickHeaders: readonly string[] = [
  'Content-Type',
  'application/json; charset=utf-8',
  'Cache-Control',
  'no-store',
  'Referrer-Policy',
  'no-referrer',
]

function formOf({ headers, body }: Asking, ordinary: ReadonlySet<string>): Form | undefined {
  if (!isForm.test(headers['content-type'] ?? '') || special.some(name => headers[name] !== undefined))
    return undefined
  const form: Record<string, string> = Object.create(null)
  for (const [name, value] of pairsOf(body.toString())) {
    if (!ordinary.has(name) || name in form || value === '') return undefined
    form[name] = value
  }
  return form
}

function credentialsOf({ headers }: Asking, form: Form): readonly [id: string, secret: string] | undefined {
  const { client_id: id, client_secret: secret } = form
  const { authorization } = headers
  if (authorization === undefined) return id !== undefined && secret !== undefined ? [id, secret] : undefined
  const [, encoded = ''] = basic.exec(authorization) ?? []
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const [, shownId = '', shown = ''] = ownCredentials.exec(text) ?? []
  const isOne = Buffer.from(text, 'latin1').toString('base64') === encoded && secret === undefined
  return isOne && shownId !== '' && (id ?? shownId) === shownId ? [shownId, shown] : undefined
}

/** Undefined: the request is no ordinary one, and for the library. `ordinary`: the parameters that may be there. */
export async function quickRequest(
  asking: Asking,
  ordinary: ReadonlySet<string>,
  { apps, secretOverlap }: QuickParts,
): Promise<QuickRequest | undefined> {
  const form = formOf(asking, ordinary)
  const credentials = form && credentialsOf(asking, form)
  if (!credentials) return undefined
  const app = await apps.find(credentials[0])
  if (app?.type !== 'confidential') return undefined
  return isSecretOf(secretHashes(app, secretOverlap), credentials[1]) ? { app, form } : undefined
}
