/** What row security takes. */
import { type Settings, SettingsError } from '../config.ts'

/** Throws a `SettingsError` where SQLite is asked for what it has not. */
export function requireUnlocked({ rowSecurity }: Settings): void {
  if (!rowSecurity) return
  const message =
    'cannot be on with SQLite, which has no row security. Turn it off, or name a PostgreSQL database in DATABASE_URL.'
  throw new SettingsError([{ place: '`rowSecurity` (PORTICO_ROW_SECURITY)', message }])
}
