/** The settings of accounts, of their pages and of the mail that they send. */
import { choice, text } from './kinds.ts'
import { optional, row } from './row.ts'
import { colour, sender, smtp, webImage } from './theme-kinds.ts'

export const accountSettings = {
  'accounts.signUp': optional<'off' | 'open' | 'confirmed'>({
    variable: 'PORTICO_SIGN_UP',
    kind: choice('off', 'open', 'confirmed'),
    defaultText: '`confirmed` where `mail.smtp` is set, else `open`',
    sentence:
      'Whether people can make accounts: nobody (`off`), at once (`open`), or by a link that is sent to their address (`confirmed`), which also tells nobody whether an address has an account.',
  }),
  'theme.name': row({
    variable: 'PORTICO_THEME_NAME',
    kind: text,
    default: 'Portico',
    sentence: 'What the pages and messages call the service.',
  }),
  'theme.logo': optional({
    variable: 'PORTICO_THEME_LOGO',
    kind: webImage,
    defaultText: 'none',
    sentence: 'The address of an image that stands at the top of the pages.',
  }),
  'theme.colour': row({
    variable: 'PORTICO_THEME_COLOUR',
    kind: colour,
    default: '#1f5fbf',
    sentence:
      'The colour of buttons and links on the pages. Where text on it or in it could not be read, a darker or lighter one is taken.',
  }),
  'mail.smtp': optional({
    variable: 'PORTICO_SMTP',
    kind: smtp,
    secret: true,
    defaultText: 'none: messages stand in the log, marked as not sent',
    sentence:
      'The server that sends mail, e.g. `smtps://user:password@mail.example.com` or `smtp://mail.example.com:587`.',
  }),
  'mail.from': row({
    variable: 'PORTICO_MAIL_FROM',
    kind: sender,
    default: 'Portico <no-reply@localhost>',
    sentence: 'Whom mail comes from: an address, or a name with an address in angle brackets.',
  }),
} as const
