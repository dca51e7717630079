/** Mails: what users chose, whose language counts, and who reads those of `portico dev`. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const mail: readonly Mutant[] = [
  ...mutantsOf(
    'auth/mail/quoted',
    ['auth/mail/templates'],
    [
      ['a name becomes a link', 'sign => sign + wordJoiner', 'sign => sign'],
      ['invisible characters stay', ".replace(/[\\p{Cf}\\p{Co}\\p{Cs}\\p{Cn}]/gu, '')", ''],
      ['texts in lists are not quoted', "value.map(each => quotedValue('', each))", 'value'],
      ['every name counts as that of a link', "name.endsWith('Link')", "name.endsWith('')"],
    ],
  ),
  ...mutantsOf(
    'auth/mail/compose',
    ['auth/mail/templates'],
    [
      ['a stranger is told from where a mail was asked for', 'withRequest.has(name) ?', 'true ?'],
      ['values are not quoted', '...quotedValues(values)', '...values'],
    ],
  ),
  ...mutantsOf(
    'auth/mail/mailer',
    ['auth/mail/languages', 'auth/mail/own-templates'],
    [
      [
        'whoever asks chooses the language',
        'known ?? acceptedLanguage(asker?.languages, languages)',
        'acceptedLanguage(asker?.languages, languages) ?? known',
      ],
      ['an unknown language replaces the one that is stored', 'if (language === undefined || (', 'if (('],
    ],
  ),
  ...mutantsOf(
    'auth/mail/languages',
    ['auth/mail/languages'],
    [
      ['an unwanted language is used', ' || Number(quality) === 0', ''],
      ['the first language wins, whatever is preferred', 'other.quality - one.quality', '0'],
    ],
  ),
  ...mutantsOf(
    'dev/mail/local-request',
    ['dev/mail'],
    [
      [
        'other machines read mails',
        "!isShared && (from === '' || !(isLoopback(from) || from === to))",
        "!isShared && from === ''",
      ],
      [
        'mails are read through a proxy',
        '!isShared && proxyHeaders.some(name => headers[name] !== undefined)',
        '!isShared && proxyHeaders.some(name => headers[name] === name)',
      ],
      ['any host name will do', 'hostname !== undefined && isOwnHost', 'hostname !== undefined || isOwnHost'],
      ['other origins read mails', 'origin !== `http://${host}`', 'origin === `http://${host}`'],
      [
        'a foreign page embeds mails',
        "headers['sec-fetch-dest'] !== 'document'",
        "headers['sec-fetch-dest'] === 'x'",
      ],
    ],
  ),
]
