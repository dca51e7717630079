/** The cookie that identifies a browser as a known device of accounts. */
import { deviceLifetimeMs, secretsIn } from '../../../identity/accounts/sign-in/known-devices.ts'
import type { AttemptOrigin } from '../../../identity/accounts/sign-in/sign-in.ts'
import { cookieOf, hostCookieName, setHostCookie } from '../../../identity/cookie.ts'
import type { RouteParts, Visit } from '../context.ts'

const cookie = 'portico_device'

function deviceSecrets({ base }: RouteParts, visit: Visit): readonly string[] {
  return secretsIn(cookieOf(visit, hostCookieName(base.issuer, cookie)))
}

/** The address and the device secrets by which the attempts of a visit are counted. */
export function attemptOrigin(parts: RouteParts, visit: Visit): AttemptOrigin {
  return { address: parts.throttleAddress(visit.address), secrets: deviceSecrets(parts, visit) }
}

/** Call this after a sign-in: makes the browser a known device of the account, and stores its language for mails. */
export async function rememberDevice(parts: RouteParts, visit: Visit, userId: number): Promise<void> {
  const { devices, mail, issuer } = parts.base
  const [secrets] = await Promise.all([
    devices.remember(deviceSecrets(parts, visit), userId),
    mail.rememberLanguage(userId, visit.headers['accept-language']),
  ])
  if (secrets === undefined) return
  const maxAgeSeconds = deviceLifetimeMs / 1000
  setHostCookie(visit.res, issuer, { name: cookie, value: secrets.join('.'), maxAgeSeconds })
}
