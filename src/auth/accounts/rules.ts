/** What a password must be: long enough, whatever it consists of (NIST SP 800-63B-4, 3.1.1.2). */

/** In characters. */
export const MIN_PASSWORD = 10
export const MAX_PASSWORD = 256
