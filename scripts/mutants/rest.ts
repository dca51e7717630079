/** Mutants of the REST transport. */
import { type Mutant, mutantsOf } from './mutant.ts'

const reads: readonly Mutant[] = [
  ...mutantsOf(
    'api/rest/accept',
    ['api/rest/headers'],
    [
      [
        'a wildcard precedes the type itself',
        "'application/json', 'application/*', '*/*')",
        "'*/*', 'application/*', 'application/json')",
      ],
      ['problem details need a higher weight', 'problem >= jsonQuality', 'problem > jsonQuality'],
      [
        'a client of problem details gets no answers',
        'json === undefined ? problem > 0 : jsonQuality > 0',
        'jsonQuality > 0',
      ],
      ['a refused type is accepted', 'json === undefined ? problem > 0 : jsonQuality > 0', 'true'],
      ['a wildcard is preferred to an event stream', "json?.type === '*/*')", 'false)'],
    ],
  ),
  ...mutantsOf(
    'api/rest/personal-data',
    ['api/rest/personal-data', 'identity/accounts/self-service/personal-data#SQLite'],
    [
      ['an old sign-in is enough', '  requireRecentSignIn(principal)\n', ''],
      ['a right that has ended goes on', '      requireMayExport(caller, id)\n', ''],
      ['third-party apps export the data of a person', 'if (access.thirdParty)', 'if (false)'],
      ['everybody exports the data of everybody', 'if (principal.userId === userId) return', 'return'],
      ['administrators need no reason', '!isOwn && reason === undefined', 'false'],
      ['an empty reason is a reason', "reason !== '' && ", ''],
      ['the type of the answer is not negotiated', '  requireNdjson(call.headers.accept)\n', ''],
    ],
  ),
  ...mutantsOf(
    'api/rest/export/formats',
    ['api/rest/export'],
    [
      ['a spreadsheet runs a text after a tab', '@\\t\\r\\n＝', '@\\r\\n＝'],
      ['a spreadsheet runs a text after a semicolon', '[;\\t]', '[\\t]'],
      [
        'no value is an empty text',
        'value === undefined) return undefined',
        "value === undefined) return ''",
      ],
    ],
  ),
  ...mutantsOf(
    'api/rest/export/sources',
    ['api/rest/export'],
    [
      ['an order that changes is walked by keyset', 'sort.every(', 'sort.some('],
      [
        'items that no longer match are exported',
        'shape.filter ? allOf([shape.filter, isAmong]) : isAmong',
        'isAmong',
      ],
      ['rows above the limit are left out', 'answer.hasMore !== true', 'true'],
    ],
  ),
  ...mutantsOf(
    'api/rest/export/export',
    ['api/rest/export', 'api/contract/exports'],
    [
      ['an export that has ended counts', 'this.#release()\n', '\n'],
      ['a revoked credential does not end an export', 'this.#failure = error\n', '\n'],
      ['rows are free', 'this.#paidRows -= rows', 'this.#paidRows -= 0'],
    ],
  ),
  ...mutantsOf(
    'api/rest/query/query-string',
    ['api/rest/query-string'],
    [
      ['a plus sign is no space', "text.includes('+') ? text.replaceAll('+', ' ') : text", 'text'],
      ['a repeated parameter is accepted', 'earlier => earlier.name === parameter.name', '() => false'],
      ['surplus parameters are ignored', "split('&', maxParameters + 1)", "split('&', maxParameters)"],
      ['the last equals sign separates the value', "pair.indexOf('=')", "pair.lastIndexOf('=')"],
      [
        'a long name is cut within a character',
        'maxQuotedLength).toWellFormed(), code',
        'maxQuotedLength), code',
      ],
    ],
  ),
  ...mutantsOf(
    'api/rest/query/filter-name',
    ['api/rest/filters'],
    [
      ['an alternative may have the number 0', 'alternative < 1 ||', 'alternative < 0 ||'],
      ['alternatives have no bound', ' || alternative > maxAlternatives', ''],
      ['a negated condition is not negated', 'isNegated: not !== undefined', 'isNegated: false'],
    ],
  ),
  ...mutantsOf(
    'api/rest/path-id',
    ['api/rest/routes'],
    [
      ['an id has several spellings', ' || text.charCodeAt(from) === ZERO', ''],
      ['an id beyond 2^53 is rounded', 'id <= Number.MAX_SAFE_INTEGER ? id : 0', 'id'],
      ['a letter is part of an id', 'digit < ZERO || digit > NINE', 'digit < ZERO'],
    ],
  ),
  ...mutantsOf(
    'api/rest/reply/links',
    ['api/rest/links', 'api/rest/list'],
    [
      ['the last page has a next one', 'page < last)', 'page <= last)'],
      ['a long link is sent', 'header.length + text.length > maxHeaderLength', 'false'],
      [
        'the page before one beyond the end is beyond the end',
        'Math.min(page - 1, last ?? page)',
        'page - 1',
      ],
      ['the first page has a previous one', 'if (page > 1) links', 'if (page > 0) links'],
    ],
  ),
  ...mutantsOf(
    'api/rest/reply/headers',
    ['api/rest/headers'],
    [
      [
        'the latest deprecation is sent',
        'sortedTimes[0] === undefined ? undefined : new Date(sortedTimes[0])',
        'sortedTimes[0] === undefined ? undefined : new Date(sortedTimes.at(-1) ?? 0)',
      ],
      ['a deprecation is in milliseconds', 'since.getTime() / 1000', 'since.getTime()'],
      [
        'a public cache keeps a secret',
        "open: headers(secret ? 'no-store' : 'public, no-cache')",
        "open: headers('public, no-cache')",
      ],
      ['a private answer is public', "'no-store' : 'private, no-cache'", "'no-store' : 'public, no-cache'"],
    ],
  ),
]

const writes: readonly Mutant[] = [
  ...mutantsOf(
    'api/rest/body',
    ['api/rest/body'],
    [
      ['33 levels are accepted', 'depth > maxDepth)', 'depth > maxDepth + 1)'],
      ['a repeated member is accepted', '  if (membersIn(value) !== members) throw duplicateKey(text)\n', ''],
      [
        'brackets in texts are levels',
        'if (code === QUOTE) index = endOfString(text, index)',
        'if (code < 0) index = 0',
      ],
      ['an escaped quote ends a text', 'if (code === BACKSLASH) index += 1', 'if (code < 0) index += 1'],
      ['another charset is read as UTF-8', "match[1] !== 'charset' || ", 'match[1] !== undefined || '],
      [
        'a compressed body is read',
        "encoding !== undefined && encoding.toLowerCase() !== 'identity'",
        "encoding === ''",
      ],
      [
        'elements of arrays count as members',
        'for (const item of value) members += membersIn(item)',
        'for (const item of value) members += 1 + membersIn(item)',
      ],
    ],
  ),
  ...mutantsOf(
    'api/rest/batch/references',
    ['api/rest/batch'],
    [
      [
        'references copy without a bound',
        'if (this.#copied <= maxCopiedCharacters) return value',
        'if (this.#copied >= 0) return value',
      ],
      [
        'a text that begins with $ cannot be written',
        "    if (value.startsWith('$$')) return value.slice(1)\n",
        '',
      ],
      ['any value is an id in a path', 'Number.isSafeInteger(value)', 'value !== null'],
      ['a reference may be part of a text', '([A-Za-z_][A-Za-z0-9_]*)$/', '([A-Za-z_][A-Za-z0-9_]*)/'],
    ],
  ),
  ...mutantsOf(
    'api/rest/openapi/enumerations',
    ['api/rest/document#constants of enumerations'],
    [
      [
        'equal values of two enumerations have one name',
        'name + (pascalWords(value) || namedCharacters(value))',
        'pascalWords(value) || namedCharacters(value)',
      ],
      [
        'a value without letters has no name',
        'pascalWords(value) || namedCharacters(value)',
        'pascalWords(value)',
      ],
    ],
  ),
]

export const rest: readonly Mutant[] = [...reads, ...writes]
