/** A process that migrates a large table, and prints a line when it begins. */
import { writeSync } from 'node:fs'
import { applyPostgres } from '../../../src/engine/store/schema/postgres/migrate.ts'
import { applyMigration } from '../../../src/engine/store/sqlite/sqlite.ts'
import { after } from './migration-models.ts'

const [, , location = ''] = process.argv
const target = { allowDestructive: true }
writeSync(1, 'begins')
if (location.startsWith('postgres:')) await applyPostgres(location, after, target)
else applyMigration(location, after, target)
writeSync(1, ' done')
