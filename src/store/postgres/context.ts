/** What the readers of single shapes share, and the writers. */
import type { GuardedWrite } from '../../plan/guarded.ts'
import type { Answers } from '../answers.ts'
import type { Versions } from '../versions.ts'
import type { Written } from '../write/written.ts'
import type { Checks } from './checks.ts'
import type { Security } from './security.ts'
import type { Query, Rows } from './statement.ts'
import type { Scope } from './transaction.ts'

/** Runs queries in one snapshot. */
export type Ask = (queries: readonly Query[]) => Promise<readonly Rows[]>

export interface Remembering {
  readonly answers: Answers
  readonly versions: Versions
  readonly checks: Checks
  readonly security: Security
}

export interface ReadContext extends Remembering {
  readonly ask: Ask
}

/** Runs one write within the transaction. */
export type WriteRun = (plan: GuardedWrite, scope: Scope) => Promise<Written>
