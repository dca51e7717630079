/** Every set-up on which whole suites run. */
import { sharing } from './redis.ts'
import type { Setup } from './setup.ts'
import { sqlite, sqliteNodes } from './sqlite.ts'

export const setups: readonly Setup[] = [sqlite, sqliteNodes]
/** Those with several nodes. */
export const nodeSetups: readonly Setup[] = [sqliteNodes, sharing(sqliteNodes)]
