/** The browser in a `User-Agent`, as words and as an icon. Only known names are shown: clients can send any text. */
import type { Text } from '../../../base/html.ts'
import { t, translated } from '../../../identity/mail/page-texts.ts'
import type { Icon } from './icons.ts'

type Known = readonly (readonly [mark: string, name: string])[]

/** In this order: most browsers also name earlier browsers. */
const browsers: Known = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Vivaldi', 'Vivaldi'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
]

const systems: Known = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['CrOS', 'ChromeOS'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
]

const programs: Known = [
  ['curl/', 'curl'],
  ['Wget/', 'Wget'],
  ['python', 'Python'],
  ['PostmanRuntime', 'Postman'],
  ['node', 'Node.js'],
  ['Go-http-client', 'Go'],
  ['okhttp', 'an Android app'],
]

function nameIn(userAgent: string, known: Known): string | undefined {
  return known.find(([mark]) => userAgent.includes(mark))?.[1]
}

/** E.g. `Firefox on Linux`, if the header says so. */
export function browserName(userAgent: string): Text {
  const browser = translated(nameIn(userAgent, browsers) ?? nameIn(userAgent, programs) ?? 'A browser')
  const system = nameIn(userAgent, systems)
  return system === undefined ? browser : t('{browser} on {system}', { browser, system })
}

export function deviceIcon(userAgent: string): Icon {
  if (/iPad|Android(?!.*Mobile)/.test(userAgent)) return 'tablet'
  if (/iPhone|Android/.test(userAgent)) return 'phone'
  const isBrowser = nameIn(userAgent, browsers) !== undefined
  return !isBrowser && nameIn(userAgent, programs) !== undefined ? 'program' : 'screen'
}
