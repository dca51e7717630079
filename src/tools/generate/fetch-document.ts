/** Fetches the OpenAPI document of a service. */

import { isObject, parseJson, type UncheckedObject } from '../../base/json.ts'
import { OutgoingError, type OutgoingFailure } from '../../delivery/outgoing/errors.ts'
import { Outgoing, type OutgoingResponse } from '../../delivery/outgoing/outgoing.ts'
import { DocumentError } from './errors.ts'
import { objectAt, textAt } from './members.ts'

/** The document of a model with a hundred collections has about 5 MB. */
const maxDocumentBytes = 32 * 1024 * 1024
const timeoutMs = 30_000
const maxRedirects = 3
const documentPath = '/api/v1/openapi.json'

/**
 * Fetches the document of a service. `from`: the address of the service or of the document. `headers` are sent to the
 * origin of `from`, and if it redirects to HTTPS, to the same host on port 443. Rejects with a `DocumentError`.
 */
export async function fetchDocument(
  from: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<UncheckedObject> {
  const url = documentUrl(from)
  const outgoing = new Outgoing({ allowPrivate: true })
  try {
    return porticoDocument(url, await followRedirects(outgoing, url, headers))
  } catch (error) {
    throw error instanceof OutgoingError ? requestFailure(error) : error
  } finally {
    await outgoing.close()
  }
}

const failureAdvice: Partial<Record<OutgoingFailure, string>> = {
  name_not_found: 'Is the name right?',
  connection_failed: 'Is the service running there?',
  response_malformed: 'Is it the address of the service?',
  timed_out: 'Is the service running there?',
  body_too_large: 'No document of Portico is that large.',
}

function requestFailure({ message, failure }: OutgoingError): DocumentError {
  return new DocumentError([message, failureAdvice[failure] ?? ''].join(' ').trim())
}

/** `https://api.example.com` → `https://api.example.com/api/v1/openapi.json`. */
function documentUrl(from: string): URL {
  const url = URL.parse(from)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    throw new DocumentError(
      `${JSON.stringify(from)} is not the URL of a service: write it as \`https://api.example.com\`.`,
    )
  }
  if (!url.pathname.endsWith('.json')) url.pathname = url.pathname.replace(/\/+$/, '') + documentPath
  url.hash = ''
  return url
}

/** Follows redirects within the host, e.g. from http to https. Other hosts must be named in the command. */
async function followRedirects(
  outgoing: Outgoing,
  first: URL,
  headers: Readonly<Record<string, string>>,
): Promise<OutgoingResponse> {
  const accept = { accept: 'application/json' }
  let url = first
  for (let count = 0; count <= maxRedirects; count += 1) {
    const response = await outgoing.request({
      url: url.href,
      headers: { ...accept, ...headers },
      timeoutMs,
      maxBodyBytes: maxDocumentBytes,
    })
    if (response.status < 300 || response.status >= 400) return response
    url = redirectOf(url, response)
  }
  throw new DocumentError(`${first.host} redirects more than ${maxRedirects} times.`)
}

function redirectOf(from: URL, { headers }: OutgoingResponse): URL {
  const to = URL.parse(headers['location'] ?? '', from.href)
  if (to === null) throw new DocumentError(`${from.host} redirects without a valid Location header.`)
  // Another program may listen on another port.
  const isUpgrade =
    from.protocol === 'http:' && to.protocol === 'https:' && from.hostname === to.hostname && to.port === ''
  if (isUpgrade || to.origin === from.origin) return to
  throw new DocumentError(
    `${from.host} redirects to ${to.origin}. If that is the service, name it: \`--from ${to.origin}\`.`,
  )
}

const statusAdvice: Readonly<Record<number, string>> = {
  401: 'Send a credential: `--header "Authorization: Bearer …"`.',
  403: 'The credential may not read it.',
  404: 'Name the service as its own pages show it, without a path.',
}

function porticoDocument({ host, pathname }: URL, { status, body }: OutgoingResponse): UncheckedObject {
  if (status !== 200) {
    const advice = statusAdvice[status] ?? 'Try again when the service is available.'
    throw new DocumentError(`${host} answered ${status} for ${pathname}. ${advice}`)
  }
  const document = parseJson(body.toString())
  if (document === undefined) {
    throw new DocumentError(`The response of ${host} for ${pathname} is not JSON: is Portico served there?`)
  }
  if (!isPorticoDocument(document)) {
    throw new DocumentError(`The response of ${host} for ${pathname} is not an OpenAPI document of Portico.`)
  }
  return document
}

function isPorticoDocument(document: unknown): document is UncheckedObject {
  return (
    isObject(document) &&
    textAt(document, 'openapi').startsWith('3.1') &&
    textAt(objectAt(document, 'paths', documentPath, 'get'), 'operationId') !== ''
  )
}
