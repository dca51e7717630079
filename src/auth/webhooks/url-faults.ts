/** Which addresses webhooks may have. The delivery checks the address again, on the connection. */
import { isIP } from 'node:net'
import type { FieldFault } from '../../errors.ts'
import { isPublicAddress } from '../../outgoing/addresses.ts'

/** Names within the machine or its network (RFC 6761, 6.3; RFC 6762, 3; RFC 8375; ICANN's `internal`). */
const localName = /(?:^|\.)(?:localhost|local|internal|home\.arpa)\.?$/

function fault(code: string, message: string): FieldFault {
  return { field: 'url', code, message }
}

/**
 * What is wrong with the URL of a webhook; undefined if it is valid.
 * @param allowPrivate whether http and addresses that are not public are accepted.
 */
export function urlFault(text: string, allowPrivate: boolean): FieldFault | undefined {
  if (!URL.canParse(text))
    return fault('bad_format', 'url must be an https URL, e.g. https://example.com/hook.')
  const { protocol, username, password, hostname } = new URL(text)
  if (username !== '' || password !== '') {
    return fault('not_allowed', 'url must have no user name and no password: deliveries are signed instead.')
  }
  if (allowPrivate) return undefined
  if (protocol !== 'https:') return fault('not_allowed', 'url must begin with https://.')
  if (isPublicHost(hostname)) return undefined
  return fault('not_allowed', `url must lead to a public address, which ${hostname} is not.`)
}

/** A name that is not known to be local counts as public: its address is checked at the delivery. */
function isPublicHost(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '')
  return isIP(address) === 0 ? !localName.test(hostname) : isPublicAddress(address)
}
