/** The constant headers of a successful response: media type, caching (RFC 9111), deprecation (RFC 9745, RFC 8594). */

import { type AccessClass, isAnonymous } from '../../../base/principal.ts'
import type { Deprecation } from '../../../model/model.ts'

/** Flat lists of headers, shared by all responses of one kind. */
export interface Presentation {
  /** For callers without a credential. */
  readonly open: readonly string[]
  /** For callers with a credential. */
  readonly own: readonly string[]
  /** For responses to writes. */
  readonly unstored: readonly string[]
}

export const vary = 'Authorization, X-API-Key, Cookie, Accept'

function earliest(times: readonly (string | undefined)[]): Date | undefined {
  const sortedTimes = times.filter(time => time !== undefined).sort()
  return sortedTimes[0] === undefined ? undefined : new Date(sortedTimes[0])
}

function deprecationHeaders(deprecations: readonly Deprecation[]): string[] {
  const since = earliest(deprecations.map(deprecation => deprecation.since))
  const sunset = earliest(deprecations.map(deprecation => deprecation.sunset))
  const headers: string[] = []
  if (since) headers.push('Deprecation', `@${Math.floor(since.getTime() / 1000)}`)
  if (sunset) headers.push('Sunset', sunset.toUTCString())
  return headers
}

/** `secret`: the responses must not be stored. `deprecations`: of everything that the responses contain. */
export function makePresentation(secret: boolean, deprecations: readonly Deprecation[]): Presentation {
  const special = deprecationHeaders(deprecations)
  const headers = (caching: string) => [
    'Content-Type',
    'application/json',
    'Cache-Control',
    caching,
    'Vary',
    vary,
    ...special,
  ]
  return {
    open: headers(secret ? 'no-store' : 'public, no-cache'),
    own: headers(secret ? 'no-store' : 'private, no-cache'),
    unstored: headers('no-store'),
  }
}

/** The headers for a read by this access class. */
export function readHeaders(presentation: Presentation, access: AccessClass): readonly string[] {
  return isAnonymous(access) ? presentation.open : presentation.own
}
