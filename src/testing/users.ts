/** Users for tests, without passwords, whose hash is slow on purpose. */

import { type Addresses, createAddresses } from '../auth/accounts/addresses.ts'
import { createBySystem, createKey } from '../auth/bootstrap.ts'
import type { Run } from '../plan/run.ts'
import type { Records } from '../records.ts'

export class TestUsers {
  readonly #run: Run
  readonly #addresses: Addresses
  readonly #keys = new Map<number, Promise<string>>()
  #count = 0

  constructor(run: Run, records: Records) {
    this.#run = run
    this.#addresses = createAddresses(records)
  }

  /** Returns the id. Name and address have defaults. */
  async create(values: object, isConfirmed: boolean): Promise<number> {
    this.#count++
    const made = { name: `User ${this.#count}`, email: `user${this.#count}@example.com`, ...values }
    const id = await createBySystem(this.#run, 'users', made, {})
    if (isConfirmed) await this.#addresses.confirm(id, made.email)
    return id
  }

  /** An API key of the user for requests: the same at every call. */
  keyOf(userId: number): Promise<string> {
    const known = this.#keys.get(userId)
    if (known !== undefined) return known
    const made = createKey(this.#run, userId, { name: 'For tests', scopes: ['*'] })
    this.#keys.set(userId, made)
    // The user may be created later.
    made.catch(() => this.#keys.delete(userId))
    return made
  }
}
