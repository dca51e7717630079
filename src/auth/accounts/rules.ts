/** What a password must be: long enough, and none that everybody tries (NIST SP 800-63B-4, 3.1.1.2). */
import { isPasswordTooLong, maxPasswordCharacters } from '../password.ts'

/** In characters. */
export const MIN_PASSWORD = 10

/** The common ones that are long enough to pass otherwise; without digits and marks at the end. */
const common = new Set(
  'password passwort qwertyuiop qwertyuiopasdf asdfghjkl zxcvbnm letmein iloveyou administrator welcome changeme football baseball superman princess sunshine trustno basketball'.split(
    ' ',
  ),
)

function isCommon(password: string): boolean {
  const plain = password.toLowerCase()
  if (/^(.{1,3})\1+.?$/su.test(plain)) return true
  if ('01234567890123456789'.includes(plain) || '98765432109876543210'.includes(plain)) return true
  return common.has(plain.replace(/[^a-z]+$/, ''))
}

/** What is wrong with a new password, in a sentence; undefined: nothing. */
export function passwordFault(password: string, email: string): string | undefined {
  if (isPasswordTooLong(password)) return `Enter at most ${maxPasswordCharacters} characters.`
  if ([...password].length < MIN_PASSWORD) return `Enter at least ${MIN_PASSWORD} characters.`
  if (password.toLowerCase() === email.toLowerCase()) return 'Choose something else than your e-mail address.'
  if (isCommon(password)) return 'This password is too easy to guess. Choose another one.'
  return undefined
}
