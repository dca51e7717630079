/**
 * Ordinary requests to the endpoints that programs call most, a form and an app with its secret, answered straight
 * from the records. Everything else, every fault among it, is left to the library, which finds everything as it was.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply } from '../../call.ts'
import { secretHashes } from './app-secrets.ts'
import type { AppRow, Apps } from './apps.ts'
import { isSecretOf } from './clients.ts'
import { pairsOf } from './dialect.ts'
import type { TokenSigner } from './jwt.ts'

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

export interface QuickEndpoint {
  /** The parameters that an ordinary request may have. */
  readonly ordinary: ReadonlySet<string>
  /** As the library would; undefined: it is for the library. */
  answer(request: QuickRequest, signer: TokenSigner): Promise<Reply | undefined>
}

interface QuickParts {
  readonly apps: Apps
  /** See `OauthSettings`. */
  readonly secretOverlap: number
  /** By path. */
  readonly endpoints: ReadonlyMap<string, QuickEndpoint>
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
  // A form as the answer is asked for by few.
  if (headers.accept?.includes('urlencoded')) return undefined
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

export class Quick {
  readonly #parts: QuickParts

  constructor(parts: QuickParts) {
    this.#parts = parts
  }

  has(path: string): boolean {
    return this.#parts.endpoints.has(path)
  }

  /** Undefined: the request is no ordinary one, and for the library. */
  async answer(path: string, asking: Asking, signer: TokenSigner): Promise<Reply | undefined> {
    const { apps, secretOverlap, endpoints } = this.#parts
    const endpoint = endpoints.get(path)
    const form = endpoint && formOf(asking, endpoint.ordinary)
    const credentials = form && credentialsOf(asking, form)
    if (!endpoint || !credentials) return undefined
    const app = await apps.find(credentials[0])
    if (app?.type !== 'confidential') return undefined
    if (!isSecretOf(secretHashes(app, secretOverlap), credentials[1])) return undefined
    return endpoint.answer({ app, form }, signer)
  }
}
