/** Checks the URLs of webhooks. Each delivery checks the address again when it connects. */
import { isIP } from 'node:net'
import type { FieldFault } from '../../base/errors.ts'
import { isPublicAddress } from '../../delivery/outgoing/addresses.ts'

/** Names of the machine itself or of its network (RFC 6761, 6.3; RFC 6762, 3; RFC 8375; ICANN's `internal`). */
const localName = /(?:^|\.)(?:localhost|local|internal|home\.arpa)\.?$/

function fault(code: string, message: string): FieldFault {
  return { field: 'url', code, message }
}

/** The fault of a webhook's URL; undefined if it is valid. `allowPrivate`: http and private addresses are accepted. */
export function urlFault(text: string, allowPrivate: boolean): FieldFault | undefined {
  if (!URL.canParse(text))
    return fault('bad_format', 'url must be an https URL, e.g. https://example.com/hook.')
  const { protocol, username, password, hostname } = new URL(text)
  if (username !== '' || password !== '') {
    return fault(
      'not_allowed',
      'url must not contain a user name or password: deliveries are signed instead.',
    )
  }
  if (allowPrivate) return undefined
  if (protocol !== 'https:') return fault('not_allowed', 'url must begin with https://.')
  if (isPublicHost(hostname)) return undefined
  return fault('not_allowed', `url must lead to a public address: ${hostname} is not public.`)
}

/** A name that is not known to be local counts as public: each delivery checks its address. */
function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) === 0 ? !localName.test(hostname) : isPublicAddress(address)
}
