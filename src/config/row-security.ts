/** The requirement of row security. */
import { type Settings, SettingsError } from '../config.ts'

/** Throws a `SettingsError` if row security is on: for SQLite, which has none. */
export function requireUnlocked({ rowSecurity }: Settings): void {
  if (!rowSecurity) return
  const message =
    'cannot be on with SQLite, which has no row security. Turn it off, or name a PostgreSQL database in DATABASE_URL.'
  throw new SettingsError([{ place: '`rowSecurity` (PORTICO_ROW_SECURITY)', message }])
}
