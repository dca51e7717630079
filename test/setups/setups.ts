/** All set-ups on which whole suites run. */
import { chosen } from '../chosen.ts'
import { postgresNodes } from './postgres.ts'
import type { Setup } from './setup.ts'
import { sqlite, sqliteNodes } from './sqlite.ts'

export const setups: readonly Setup[] = chosen([sqlite, postgresNodes])
/** The set-ups with several nodes. */
export const nodeSetups: readonly Setup[] = chosen([sqliteNodes, postgresNodes])
