/** A process that migrates a large table, and prints a line when it begins. */
import { writeSync } from 'node:fs'
import { applyPostgres } from '../../src/store/schema/postgres/migrate.ts'
import { applyMigration } from '../../src/store/sqlite.ts'
import { after } from './migration-models.ts'

const [, , at = ''] = process.argv
const target = { allowDestructive: true }
writeSync(1, 'begins')
if (at.startsWith('postgres:')) await applyPostgres(at, after, target)
else applyMigration(at, after, target)
writeSync(1, ' done')
