import { hashPassword } from '../../src/auth/password.ts'

/**
 * A hash as of every password, of the least cost: the others take 20 ms of CPU time, when they are made and whenever one
 * signs in. For tests that are not about how many wait.
 */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { memory: 8, passes: 1, parallelism: 1, tagLength: 32 })
}
