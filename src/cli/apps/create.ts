import { createApp } from '../apps.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: {
    user: { value: 'email', sentence: 'Whose app it is.', required: true },
    name: { value: 'text', sentence: 'What users see.', required: true },
    type: { value: 'type', sentence: 'confidential or public; else confidential.' },
    'redirect-uri': {
      value: 'url',
      sentence: 'Where browsers come back; can be given again.',
      multiple: true,
    },
    scopes: { value: 'list', sentence: 'What it may ask for, separated by commas; else any scope.' },
    ...files,
  },
  run: written =>
    withDatabase(written, opened =>
      createApp(opened, {
        user: written.needed('user'),
        name: written.needed('name'),
        type: written.text('type'),
        redirectUris: written.list('redirect-uri'),
        scopes: written.text('scopes'),
      }),
    ),
}
