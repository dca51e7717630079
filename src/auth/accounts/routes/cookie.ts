/** Cookies that a browser sends. */
import type { Call } from '../../../call.ts'

/** Undefined if there is no cookie with the name, or more than one. */
export function cookieOf({ headers }: Pick<Call, 'headers'>, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair.startsWith(`${name}=`))
    .map(pair => pair.slice(name.length + 1))
  return values.length === 1 ? values[0] : undefined
}
