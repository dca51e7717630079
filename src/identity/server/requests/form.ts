/** Forms as apps send them. Each body is parsed once, here. */
import type { IncomingHttpHeaders } from 'node:http'

/** In the order in which they were sent. A parameter may occur twice. */
export type Parameters = readonly (readonly [name: string, value: string])[]

export const formType = 'application/x-www-form-urlencoded'

export interface RequestBody {
  readonly bytes: Buffer
  /** Undefined if the body is not a form. */
  readonly form: Parameters | undefined
}

/** The media type of a body, without its parameters (RFC 9110, 8.3.1). */
export function mediaTypeOf(headers: IncomingHttpHeaders): string | undefined {
  return headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
}

/** The parameters of an `application/x-www-form-urlencoded` text (URL Standard, 5.1). */
export function parseForm(text: string): Parameters {
  return [...new URLSearchParams(text)]
}

/** The inverse of `parseForm`. */
export function formText(parameters: Parameters): string {
  return new URLSearchParams(parameters.map(([name, value]) => [name, value])).toString()
}

/** Parses the body of a request if it is a form. */
export function parseBody({ headers, body }: { headers: IncomingHttpHeaders; body: Buffer }): RequestBody {
  const isForm = mediaTypeOf(headers) === formType
  return { bytes: body, form: isForm ? parseForm(body.toString()) : undefined }
}

/** The first value of a parameter. */
export function firstValue(parameters: Parameters, name: string): string | undefined {
  return parameters.find(([candidate]) => candidate === name)?.[1]
}

/** The client id of HTTP Basic credentials that contain a secret, form-decoded (RFC 6749, 2.3.1). */
export function basicClientId({ authorization }: IncomingHttpHeaders): string | undefined {
  const [, encoded] = /^basic +([A-Za-z0-9+/=_-]+)$/i.exec(authorization ?? '') ?? []
  if (encoded === undefined) return undefined
  const [user, secret] = Buffer.from(encoded, 'base64').toString().split(/:(.*)/s)
  return secret ? firstValue(parseForm(`id=${user}`), 'id') : undefined
}
