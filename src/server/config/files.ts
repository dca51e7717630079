/** The settings of files. */
import { path } from './kinds.ts'
import { setting } from './setting.ts'
import { duration } from './units.ts'

export const fileSettings = {
  'files.url': setting({
    variable: 'FILES_URL',
    kind: path,
    default: './data/files',
    description:
      'The folder of the files of items, which is created if missing. Several nodes need one that they share. It belongs to one database: with another, the service does not start.',
  }),
  'files.keepDeleted': setting({
    variable: 'PORTICO_FILES_KEEP_DELETED',
    kind: duration({ from: '0 s', to: '3650 d', example: '7 d' }),
    default: '7 d',
    description:
      'How long a deleted file is kept, so that a restored backup of the database still has its files: at least the age of the oldest backup that may be restored.',
  }),
} as const
