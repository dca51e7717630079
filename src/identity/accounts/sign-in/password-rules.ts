/** Rules for passwords: they must be long enough and not common (NIST SP 800-63B-4, 3.1.1.2). */
import { ApiError } from '../../../base/errors.ts'
import { isPasswordTooLong, maxPasswordCharacters } from '../../password.ts'

export const minPasswordCharacters = 10

/** Common passwords without trailing digits and punctuation. */
const common = new Set(
  'password passwort qwertyuiop qwertyuiopasdf asdfghjkl zxcvbnm letmein iloveyou administrator welcome changeme football baseball superman princess sunshine trustno basketball'.split(
    ' ',
  ),
)

function isCommon(password: string): boolean {
  const lowerCase = password.toLowerCase()
  if (/^(.{1,3})\1+.?$/su.test(lowerCase)) return true
  if ('01234567890123456789'.includes(lowerCase) || '98765432109876543210'.includes(lowerCase)) return true
  return common.has(lowerCase.replace(/[^a-z]+$/, ''))
}

/** The fault of a new password as a sentence; undefined if there is none. */
export function passwordFault(password: string, email: string): string | undefined {
  if (isPasswordTooLong(password)) return `Enter at most ${maxPasswordCharacters} characters.`
  if ([...password].length < minPasswordCharacters)
    return `Enter at least ${minPasswordCharacters} characters.`
  if (password.toLowerCase() === email.toLowerCase())
    return 'Choose something other than your e-mail address.'
  if (isCommon(password)) return 'This password is too easy to guess. Choose another one.'
  return undefined
}

/** Throws VALIDATION_FAILED for a new password with a fault. */
export function requirePassword(password: string, email: string): void {
  const message = passwordFault(password, email)
  if (message === undefined) return
  const details = [{ field: 'password', code: 'not_allowed', message }]
  throw new ApiError('VALIDATION_FAILED', message, { details })
}
