/** Users for tests. They have no passwords, because hashing one is slow on purpose. */

import type { Records } from '../../base/records.ts'
import type { CollectionData } from '../../engine/logic/data/data.ts'
import type { Run } from '../../engine/plan/run.ts'
import { type Addresses, createAddresses } from '../../identity/accounts/addresses/addresses.ts'
import { createKey } from '../../identity/bootstrap.ts'
import type { LogicItem } from '../../model/logic/logic.ts'
import type { ServiceData } from '../../server/serve/data.ts'

export class TestUsers {
  readonly #run: Run
  readonly #data: ServiceData
  readonly #addresses: Addresses
  readonly #keys = new Map<number, Promise<string>>()
  #count = 0

  constructor(run: Run, records: Records, data: ServiceData) {
    this.#run = run
    this.#data = data
    this.#addresses = createAddresses(records)
  }

  /** Name and address have defaults. Rejects with VALIDATION_FAILED if the values do not fit the model. */
  async create(values: object, isConfirmed: boolean): Promise<LogicItem> {
    this.#count++
    const defaults = { name: `User ${this.#count}`, email: `user${this.#count}@example.com` }
    const user = await usersIn(this.#data).create({ ...defaults, ...values })
    if (isConfirmed) await this.#addresses.confirm(Number(user.id), String(user.email))
    return user
  }

  /** An API key of the user: every call returns the same one. */
  keyOf(userId: number): Promise<string> {
    const existing = this.#keys.get(userId)
    if (existing !== undefined) return existing
    const created = createKey(this.#run, userId, { name: 'For tests', scopes: ['*'] })
    this.#keys.set(userId, created)
    // After a failure, a later call tries again: the user may be created later.
    created.catch(() => this.#keys.delete(userId))
    return created
  }
}

function usersIn({ users }: ServiceData): CollectionData {
  if (users === undefined) throw new TypeError('every model has users')
  return users
}
