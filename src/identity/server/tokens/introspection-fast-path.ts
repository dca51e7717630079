/**
 * Introspection (RFC 7662) without oidc-provider, for the requests that nearly all resource servers send: a form, from an
 * app with its secret. All other requests, and all faulty ones, are left to oidc-provider; this path writes nothing.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Reply } from '../../../base/call.ts'
import { secretHashes } from '../clients/app-secrets.ts'
import type { AppRow, Apps } from '../clients/apps.ts'
import { isSecretOf } from '../clients/client-metadata.ts'
import type { Parameters } from '../requests/form.ts'
import type { Introspection } from './introspection.ts'
import type { TokenSigner } from './jwt.ts'

interface FastPathParts {
  readonly apps: Apps
  readonly secretOverlapSeconds: number
  readonly introspection: Pick<Introspection, 'answer'>
}

type Form = Readonly<Partial<Record<string, string>>>

const knownParameters: ReadonlySet<string> = new Set([
  'token',
  'token_type_hint',
  'client_id',
  'client_secret',
])
const formTypes = /^application\/x-www-form-urlencoded(?:; ?charset=utf-8)?$/i
/** Headers that change what oidc-provider does. */
const otherHeaders = ['origin', 'dpop', 'oauth-client-attestation', 'oauth-client-attestation-pop']
/** RFC 7617, 2. Our client ids and secrets contain nothing that must be escaped. */
const basicScheme = /^Basic ([A-Za-z0-9+/]{20,200}={0,2})$/
const ownCredentials = /^(app_[A-Za-z0-9_-]{20}):(ps_[A-Za-z0-9_-]{43})$/

function isPlain(headers: IncomingHttpHeaders): boolean {
  const { accept, 'content-type': type = '' } = headers
  if (otherHeaders.some(name => headers[name] !== undefined)) return false
  return formTypes.test(type) && accept?.includes('urlencoded') !== true
}

/** Undefined if a parameter is unknown, empty or repeated. */
function parametersOf(sent: Parameters): Form | undefined {
  const form: Record<string, string> = Object.create(null)
  for (const [name, value] of sent) {
    if (!knownParameters.has(name) || name in form || value === '') return undefined
    form[name] = value
  }
  return form
}

function credentialsOf(
  { authorization }: IncomingHttpHeaders,
  { client_id: id, client_secret: secret }: Form,
): readonly [id: string, secret: string] | undefined {
  if (authorization === undefined) return id !== undefined && secret !== undefined ? [id, secret] : undefined
  const [, encoded = ''] = basicScheme.exec(authorization) ?? []
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const [, basicId = '', basicSecret = ''] = ownCredentials.exec(text) ?? []
  const isCanonical = Buffer.from(text, 'latin1').toString('base64') === encoded
  if (!isCanonical || secret !== undefined || basicId === '') return undefined
  return (id ?? basicId) === basicId ? [basicId, basicSecret] : undefined
}

/** Authenticates the app by its secret (RFC 6749, 2.3.1), and answers from the records. */
export class IntrospectionFastPath {
  readonly #parts: FastPathParts

  constructor(parts: FastPathParts) {
    this.#parts = parts
  }

  /** Undefined: pass the request to oidc-provider. */
  async answer(
    headers: IncomingHttpHeaders,
    sent: Parameters,
    signer: TokenSigner,
  ): Promise<Reply | undefined> {
    const form = isPlain(headers) ? parametersOf(sent) : undefined
    const credentials = form && credentialsOf(headers, form)
    if (form?.token === undefined || !credentials) return undefined
    const app = await this.#authenticated(credentials)
    return app && this.#parts.introspection.answer(app, form.token, signer)
  }

  async #authenticated([id, secret]: readonly [string, string]): Promise<AppRow | undefined> {
    const { apps, secretOverlapSeconds } = this.#parts
    const app = await apps.find(id)
    if (app?.type !== 'confidential') return undefined
    return isSecretOf(secretHashes(app, secretOverlapSeconds), secret) ? app : undefined
  }
}
