/** All set-ups on which whole suites run. */
import { postgresNodes } from './postgres.ts'
import type { Setup } from './setup.ts'
import { sqlite, sqliteNodes } from './sqlite.ts'

export const setups: readonly Setup[] = [sqlite, postgresNodes]
/** The set-ups with several nodes. */
export const nodeSetups: readonly Setup[] = [sqliteNodes, postgresNodes]
