/** Mails: quoted texts of users, the choice of the language, and access to the mails of `portico dev`. */
import { type Mutant, mutantsOf } from './mutant.ts'

export const mail: readonly Mutant[] = [
  ...mutantsOf(
    'identity/mail/quoted',
    ['identity/mail/templates'],
    [
      ['a name becomes a link', 'sign => sign + wordJoiner', 'sign => sign'],
      ['invisible characters are kept', ".replace(/[\\p{Cf}\\p{Co}\\p{Cs}\\p{Cn}]/gu, '')", ''],
      ['texts in lists are not quoted', "value.map(element => quotedValue('', element))", 'value'],
      ['every value counts as a link', "name.endsWith('Link')", "name.endsWith('')"],
    ],
  ),
  ...mutantsOf(
    'identity/mail/compose',
    ['identity/mail/templates'],
    [
      ['a stranger’s mail contains the origin of the request', 'withRequest.has(name) ?', 'true ?'],
      ['values are not quoted', '...quotedValues(values)', '...values'],
    ],
  ),
  ...mutantsOf(
    'identity/mail/mailer',
    ['identity/mail/languages', 'identity/mail/own-templates', 'identity/pages/languages'],
    [
      [
        'pages are in the language of the browser, whoever is signed in',
        'language === undefined ? pageLanguage(acceptLanguage) : catalogue.pages(language)',
        'pageLanguage(acceptLanguage)',
      ],
      [
        'the requesting browser chooses the language',
        '(await languageOfUser(userId, languages)) ??\n    acceptedLanguage(requester?.languages, languages)',
        'acceptedLanguage(requester?.languages, languages) ??\n    (await languageOfUser(userId, languages))',
      ],
      ['an unknown language replaces the stored one', 'if (language === undefined || (', 'if (('],
    ],
  ),
  ...mutantsOf(
    'identity/mail/languages',
    ['identity/mail/languages'],
    [
      ['a language with the quality 0 is used', ' || Number(quality) === 0', ''],
      ['the first language wins, whatever its quality', 'b.quality - a.quality', '0'],
    ],
  ),
  ...mutantsOf(
    'tools/dev/mail/local-request',
    ['tools/dev/mail'],
    [
      [
        'other machines can read the mails',
        "!isShared && (from === '' || !(isLoopback(from) || from === to))",
        "!isShared && from === ''",
      ],
      [
        'the mails can be read through a proxy',
        '!isShared && proxyHeaders.some(name => headers[name] !== undefined)',
        '!isShared && proxyHeaders.some(name => headers[name] === name)',
      ],
      [
        'every host name is accepted',
        'hostname !== undefined && isOwnHost',
        'hostname !== undefined || isOwnHost',
      ],
      ['other origins can read the mails', 'origin !== `http://${host}`', 'origin === `http://${host}`'],
      [
        'a foreign page can embed the mails',
        "headers['sec-fetch-dest'] !== 'document'",
        "headers['sec-fetch-dest'] === 'x'",
      ],
    ],
  ),
]
