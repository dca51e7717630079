/** The sources and targets of copies. */
import type { DatabaseLocation } from '../../../src/store/copy.ts'

export const sqlitePlace = (file: string): DatabaseLocation => ({
  location: file,
  kind: 'sqlite',
  name: file,
})

export const postgresPlace = (url: string): DatabaseLocation => ({
  location: url,
  kind: 'postgres',
  name: new URL(url).pathname,
})
