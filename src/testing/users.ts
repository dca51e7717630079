/** Accounts for tests, without the hash of a password, which is slow on purpose. */
import { createBySystem, createKey } from '../auth/bootstrap.ts'
import type { JsonValue } from '../model/fields/type.ts'
import type { Run } from '../plan/run.ts'

type Values = Readonly<Record<string, JsonValue>>

export class TestUsers {
  readonly #run: Run
  readonly #keys = new Map<number, Promise<string>>()
  #count = 0

  constructor(run: Run) {
    this.#run = run
  }

  /** Returns the id. A name and an address are made up where none is given. */
  create(values: Values = {}): Promise<number> {
    this.#count++
    const made = { name: `User ${this.#count}`, email: `user${this.#count}@example.com` }
    return createBySystem(this.#run, 'users', { ...made, ...values }, {})
  }

  /** A key of the user's, for requests; the same at every call. */
  keyOf(userId: number): Promise<string> {
    const known = this.#keys.get(userId)
    if (known !== undefined) return known
    const made = createKey(this.#run, userId, { name: 'For tests', scopes: ['*'] })
    this.#keys.set(userId, made)
    return made
  }
}
