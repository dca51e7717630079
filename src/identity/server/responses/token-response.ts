/** The token response as apps expect it. */
import { mediaRanges } from '../../../base/media-ranges.ts'
import { formText } from '../requests/form.ts'

/** `scope` joined by the separator, and `token_type` in lower case (RFC 6749, 5.1: it is case-insensitive). */
export function tokenResponse(body: Record<string, unknown>, separator: ',' | ' '): Record<string, unknown> {
  const { scope, token_type: type } = body
  return {
    ...body,
    ...(typeof scope === 'string' ? { scope: scope.replaceAll(' ', separator) } : undefined),
    ...(type === 'Bearer' ? { token_type: 'bearer' } : undefined),
  }
}

/** Whether the client accepts a form and does not name JSON. */
export function acceptsOnlyForm(accept: string | undefined): boolean {
  if (accept === undefined) return false
  const types = mediaRanges(accept).map(({ type }) => type)
  return types.includes('application/x-www-form-urlencoded') && !types.includes('application/json')
}

/** The body of a token response as a form; members without a value are omitted. */
export function responseAsForm(body: Record<string, unknown>): string {
  const pairs = Object.entries(body).filter(([, value]) => value !== undefined && value !== null)
  return formText(pairs.map(([name, value]) => [name, String(value)]))
}
