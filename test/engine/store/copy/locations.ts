/** The sources and targets of copies. */
import type { DatabaseLocation } from '../../../../src/engine/store/copy/copy.ts'

export const sqliteLocation = (file: string): DatabaseLocation => ({
  location: file,
  kind: 'sqlite',
  name: file,
})

export const postgresLocation = (url: string): DatabaseLocation => ({
  location: url,
  kind: 'postgres',
  name: new URL(url).pathname,
})
