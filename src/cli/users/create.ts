import { createUserAs } from '../accounts.ts'
import type { Command } from '../commands.ts'
import { files, withDatabase } from '../opened.ts'

export const command: Command = {
  options: {
    email: { value: 'email', sentence: 'The e-mail address.', required: true },
    name: { value: 'text', sentence: 'The name; else the part before the @.' },
    role: { value: 'role', sentence: 'The role; else the default one.' },
    password: {
      value: 'text',
      sentence: 'The password, of at most 256 characters; else one is made and printed once.',
    },
    set: { value: 'field=value', sentence: 'Another field of users; can be given again.', multiple: true },
    ...files,
  },
  run: written =>
    withDatabase(written, opened =>
      createUserAs(opened, {
        email: written.needed('email'),
        name: written.text('name'),
        role: written.text('role'),
        password: written.text('password'),
        set: written.list('set'),
      }),
    ),
}
