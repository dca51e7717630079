/** A process that rebuilds a large table, and says when it begins. */
import { writeSync } from 'node:fs'
import { applyMigration } from '../../src/store/sqlite.ts'
import { after } from './migration-models.ts'

writeSync(1, 'begins')
applyMigration(process.argv[2] ?? '', after, { allowDestructive: true })
writeSync(1, ' done')
