import { hashPassword } from '../../src/identity/password.ts'

/**
 * A password hash with minimal cost; a regular one takes 20 ms of CPU time to create and to verify. For tests that do not
 * measure the queue of hashes.
 */
export function cheapHash(password: string): Promise<string> {
  return hashPassword(password, { memory: 8, passes: 1, parallelism: 1, tagLength: 32 })
}
