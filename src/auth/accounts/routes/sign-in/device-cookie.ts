/** The cookie by which accounts recognise a browser in which they have signed in. */
import { deviceLifetimeMs, secretsIn } from '../../sign-in/known-devices.ts'
import type { From } from '../../sign-in.ts'
import type { RouteParts, Visit } from '../context.ts'
import { cookieOf } from '../cookie.ts'

function nameOf(issuer: string): string {
  // RFC 6265bis, 4.1.3.2: no other host of the domain can set a cookie with this prefix.
  return issuer.startsWith('https:') ? '__Host-portico_device' : 'portico_device'
}

function deviceSecrets({ base }: RouteParts, visit: Visit): readonly string[] {
  return secretsIn(cookieOf(visit, nameOf(base.issuer)))
}

/** What the attempts of a visit are counted by. */
export function fromOf(parts: RouteParts, visit: Visit): From {
  return { address: parts.throttleAddress(visit.address), secrets: deviceSecrets(parts, visit) }
}

/** To be called after a sign-in: makes the browser known to the account, and stores its language for mails. */
export async function rememberDevice(parts: RouteParts, visit: Visit, userId: number): Promise<void> {
  const { devices, mail, issuer } = parts.base
  const [secrets] = await Promise.all([
    devices.remember(deviceSecrets(parts, visit), userId),
    mail.rememberLanguage(userId, visit.headers['accept-language']),
  ])
  if (secrets === undefined) return
  const secure = issuer.startsWith('https:') ? '; Secure' : ''
  const age = `; Max-Age=${deviceLifetimeMs / 1000}`
  const value = `${nameOf(issuer)}=${secrets.join('.')}`
  visit.res.appendHeader('Set-Cookie', `${value}; Path=/; HttpOnly; SameSite=Lax${age}${secure}`)
}
