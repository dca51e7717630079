/** Who asks for a mail: the browser of a visit. */
import { isIP } from 'node:net'
import type { Asker } from '../../mail/mailer.ts'
import { browserName } from '../../pages/components/device-name.ts'
import type { Visit } from './context.ts'

const maxAgentCharacters = 300

/** E.g. `Firefox, Linux`. Made of known names alone: the header is whatever the client says. */
function deviceOf(userAgent: string): string | undefined {
  const name = browserName(userAgent.slice(0, maxAgentCharacters))
  return name.startsWith('A browser') ? undefined : name.replace(' on ', ', ')
}

export function askerOf({ headers, address }: Visit): Asker {
  return {
    languages: headers['accept-language'],
    address: isIP(address) === 0 ? undefined : address,
    device: deviceOf(headers['user-agent'] ?? ''),
  }
}
