/** Checks whether the tables still fit the model: other processes may migrate them. */
import type { Model } from '../../../../model/model.ts'
import type { Pool } from '../../postgres/connections/pool.ts'
import { statementOf } from '../../postgres/connections/statement.ts'
import { sql } from '../../sql/writer.ts'
import { noInputs } from '../../values.ts'
import { falseIfRefused } from '../refusal.ts'
import { mayStartWithoutSteps } from '../start.ts'
import { planFor, stateOf } from './plan.ts'
import { withConnection } from './session.ts'

/** It changes whenever a column is added, changed or dropped. */
const fingerprint = statementOf(
  sql`SELECT md5(string_agg(c."relname" || '.' || a."attname" || ' ' || a."atttypid" || ' ' || a."attnotnull", ',' ORDER BY c."relname", a."attname")) FROM pg_class c JOIN pg_attribute a ON a."attrelid" = c."oid" AND a."attnum" > 0 AND NOT a."attisdropped" WHERE c."relnamespace" = current_schema()::regnamespace AND c."relkind" IN ('r', 'p')`,
)

interface FitParts {
  readonly url: string
  /** The schema of all tables. */
  readonly schema: string | undefined
  readonly model: Model
  readonly pool: Pool
}

export class PostgresFit {
  readonly #parts: FitParts
  #lastFingerprint: unknown
  #isFit = false

  constructor(parts: FitParts) {
    this.#parts = parts
  }

  /** Records that the current tables fit. */
  async remember(): Promise<void> {
    this.#lastFingerprint = await this.#fingerprint()
    this.#isFit = true
  }

  /** Whether a service of the model can continue. The tables may have more than it knows. */
  async isFit(): Promise<boolean> {
    const current = await this.#fingerprint()
    if (current === this.#lastFingerprint) return this.#isFit
    this.#isFit = await this.#check()
    this.#lastFingerprint = current
    return this.#isFit
  }

  async #fingerprint(): Promise<unknown> {
    const [rows = []] = await this.#parts.pool.ask([fingerprint.with(noInputs)], { isImmediate: true })
    return rows[0]?.[0]
  }

  async #check(): Promise<boolean> {
    const { url, schema, model } = this.#parts
    const state = await withConnection(url, stateOf, schema)
    return falseIfRefused(() => {
      const { steps } = planFor(state, { model, rowSecurity: undefined })
      return mayStartWithoutSteps(steps, { autoMigrate: false })
    })
  }
}
