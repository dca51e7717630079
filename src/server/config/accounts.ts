/** The settings of accounts, their pages and their mails. */
import { choice, flag, path, text } from './kinds.ts'
import { type ProviderSettings, providerList } from './providers.ts'
import { optional, setting } from './setting.ts'
import { colour, language, sender, smtp, webImage } from './theme-kinds.ts'

export const accountSettings = {
  'accounts.signUp': optional<'off' | 'open' | 'confirmed'>({
    variable: 'PORTICO_SIGN_UP',
    kind: choice('off', 'open', 'confirmed'),
    defaultText: '`confirmed` where `mail.smtp` is set, else `open`',
    description:
      'Whether people can create accounts: not at all (`off`), immediately (`open`), or with a link that is sent to their address (`confirmed`), which also hides whether an address has an account.',
  }),
  'accounts.selfDeletion': setting({
    variable: 'PORTICO_SELF_DELETION',
    kind: flag,
    default: true,
    description:
      'Whether people can delete their own account on `/account/profile`. Deleting other accounts is up to the rules of the model.',
  }),
  'accounts.providers': setting<readonly ProviderSettings[]>({
    variable: 'PORTICO_PROVIDERS',
    kind: providerList,
    default: [],
    defaultText: 'none',
    secret: true,
    description:
      'The providers with which people can sign in: Google, GitHub, Microsoft, Apple, and any OpenID Connect issuer. See [sign-in with others](sign-in-with-others.md). JSON in the variable.',
  }),
  'theme.name': setting({
    variable: 'PORTICO_THEME_NAME',
    kind: text,
    default: 'Portico',
    description: 'The name of the service on pages and in messages.',
  }),
  'theme.logo': optional({
    variable: 'PORTICO_THEME_LOGO',
    kind: webImage,
    defaultText: 'none',
    description: 'The URL of an image for the top of the pages.',
  }),
  'theme.colour': setting({
    variable: 'PORTICO_THEME_COLOUR',
    kind: colour,
    default: '#1f5fbf',
    description:
      'The colour of buttons and links on the pages. If text would not be readable in this colour or on it, a darker or lighter one is used.',
  }),
  'docs.guides': setting<'none' | 'callers' | 'all'>({
    variable: 'PORTICO_DOCS_GUIDES',
    kind: choice('none', 'callers', 'all'),
    default: 'callers',
    description:
      'Which guides `/docs` shows to everybody: `none`, those for developers who call the service (`callers`), or also those for its operators (`all`). Signed-in administrators see all guides, unless it is `none`.',
  }),
  'mail.smtp': optional({
    variable: 'PORTICO_SMTP',
    kind: smtp,
    secret: true,
    defaultText: 'none: messages are logged, marked as not sent',
    description:
      'The server that sends mail, e.g. `smtps://user:password@mail.example.com` or `smtp://mail.example.com:587`.',
  }),
  'mail.from': setting({
    variable: 'PORTICO_MAIL_FROM',
    kind: sender,
    default: 'Portico <no-reply@localhost>',
    description: 'The sender of mail: an address, or a name with an address in angle brackets.',
  }),
  'mail.language': setting({
    variable: 'PORTICO_MAIL_LANGUAGE',
    kind: language,
    default: 'en',
    description:
      'The language of mails to people, and of pages for people, whose browser has requested no available language. Portico has `en` and `de`; `mail.templates` adds others.',
  }),
  'mail.templates': optional({
    variable: 'PORTICO_MAIL_TEMPLATES',
    kind: path,
    defaultText: 'none: Portico’s own texts',
    description:
      'The file that replaces texts of mails and pages, or adds languages. Its default export is `defineMailTemplates({ … })`.',
  }),
} as const
