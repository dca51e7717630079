/** The browser that has caused a mail, if its request identifies it. */
import { isIP } from 'node:net'
import type { Requester } from '../../identity/mail/mailer.ts'
import { browserName } from '../pages/components/device-name.ts'
import type { Visit } from './context.ts'

const maxAgentCharacters = 300

/** E.g. `Firefox, Linux`. Contains only names from our own list, because clients can send anything in the header. */
function deviceOf(userAgent: string): string | undefined {
  const name = String(browserName(userAgent.slice(0, maxAgentCharacters)))
  return name.startsWith('A browser') ? undefined : name.replace(' on ', ', ')
}

/** The languages, address and device of the browser. */
export function requesterOf({ headers, address }: Visit): Requester {
  return {
    languages: headers['accept-language'],
    address: isIP(address) === 0 ? undefined : address,
    device: deviceOf(headers['user-agent'] ?? ''),
  }
}
