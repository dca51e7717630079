/** The sources and targets of copies. */
import type { Place } from '../../../src/store/copy.ts'

export const sqlitePlace = (file: string): Place => ({ location: file, kind: 'sqlite', name: file })

export const postgresPlace = (url: string): Place => ({
  location: url,
  kind: 'postgres',
  name: new URL(url).pathname,
})
