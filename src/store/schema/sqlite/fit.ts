/** Whether the tables still fit the model, while others may migrate them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Model } from '../../../model/model.ts'
import { MigrationError } from '../refusal.ts'
import { fits } from '../start.ts'
import { stepsFor } from './migrate.ts'

export class SqliteFit {
  readonly #database: DatabaseSync
  readonly #model: Model
  readonly #version: StatementSync
  /** It increases with every change of tables (https://sqlite.org/pragma.html#pragma_schema_version). */
  #seen: unknown
  #isFit = true

  /** For a database that fits. */
  constructor(database: DatabaseSync, model: Model) {
    this.#database = database
    this.#model = model
    this.#version = database.prepare('PRAGMA schema_version')
    this.#seen = this.#readVersion()
  }

  /** Whether a service of the model can continue. The tables may have more than it knows. */
  isFit(): boolean {
    const version = this.#readVersion()
    if (version === this.#seen) return this.#isFit
    this.#isFit = this.#look()
    this.#seen = version
    return this.#isFit
  }

  #look(): boolean {
    try {
      return fits(stepsFor(this.#database, this.#model), { autoMigrate: false })
    } catch (error) {
      if (error instanceof MigrationError) return false
      throw error
    }
  }

  #readVersion(): unknown {
    return this.#version.get()?.schema_version
  }
}
