/** Checks whether the tables still fit the model: other processes may migrate them. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Model } from '../../../../model/model.ts'
import { falseIfRefused } from '../refusal.ts'
import { mayStartWithoutSteps } from '../start.ts'
import { stepsFor } from './migrate.ts'

export class SqliteFit {
  readonly #database: DatabaseSync
  readonly #model: Model
  readonly #version: StatementSync
  /** It increases with every change of tables (https://sqlite.org/pragma.html#pragma_schema_version). */
  #lastVersion: unknown
  #isFit = true

  /** For a database that fits. */
  constructor(database: DatabaseSync, model: Model) {
    this.#database = database
    this.#model = model
    this.#version = database.prepare('PRAGMA schema_version')
    this.#lastVersion = this.#readVersion()
  }

  /** Whether a service of the model can continue. The tables may have more than it knows. */
  isFit(): boolean {
    const version = this.#readVersion()
    if (version === this.#lastVersion) return this.#isFit
    this.#isFit = this.#check()
    this.#lastVersion = version
    return this.#isFit
  }

  #check(): boolean {
    return falseIfRefused(() =>
      mayStartWithoutSteps(stepsFor(this.#database, this.#model), { autoMigrate: false }),
    )
  }

  #readVersion(): unknown {
    return this.#version.get()?.schema_version
  }
}
