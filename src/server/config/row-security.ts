/** Row security requires PostgreSQL. */
import { type Settings, SettingsError } from './config.ts'

/** Called for SQLite, which has no row security. Throws a `SettingsError` if it is on. */
export function refuseRowSecurity({ rowSecurity }: Settings): void {
  if (!rowSecurity) return
  const message =
    'cannot be on with SQLite, which has no row security. Turn it off, or name a PostgreSQL database in DATABASE_URL.'
  throw new SettingsError([{ place: '`rowSecurity` (PORTICO_ROW_SECURITY)', message }])
}
