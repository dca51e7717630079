import { createKeyFor } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'
import { user } from './user.ts'

export const command: Command = {
  options: {
    user,
    name: { value: 'text', sentence: 'What the key is for.' },
    scopes: { value: 'list', sentence: 'Scopes, separated by commas; else all: *.' },
    expires: { value: 'time', sentence: 'E.g. 30d, 12h or 2027-01-31T00:00:00Z; else never.' },
    ...files,
  },
  run: written =>
    withDatabase(written, opened =>
      createKeyFor(opened, {
        user: written.needed('user'),
        name: written.text('name'),
        scopes: written.text('scopes'),
        expires: written.text('expires'),
      }),
    ),
}
