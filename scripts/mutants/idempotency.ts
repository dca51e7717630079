/** Mutants of writes that are safe to retry. */
import { type Mutant, mutantsOf } from './mutant.ts'

const retries = ['engine/idempotency/idempotency#retries on SQLite']
const several = ['engine/idempotency/several#on SQLite, three nodes']

export const idempotency: readonly Mutant[] = [
  ...mutantsOf(
    'engine/idempotency/key',
    ['engine/idempotency/key'],
    [
      ['escapes in a quoted key stay', `string.replaceAll(/\\\\(["\\\\])/g, '$1')`, 'string'],
      ['a header that was sent twice is a key', '\\x23-\\x2b\\x2d-\\x7e]*$/', '\\x23-\\x7e]*$/'],
      ['a key may be longer', 'key.length > maxCharacters', 'key.length > maxCharacters + 1'],
      ['an empty key is a key', "  if (key === '') throw invalidKey('is empty')\n", ''],
    ],
  ),
  ...mutantsOf(
    'engine/idempotency/request',
    ['engine/idempotency/key'],
    [
      ['all callers share their keys', 'digest([scope, key])', 'digest([key])'],
      ['requests with different bodies are the same', 'variant, content])', 'variant])'],
      ['requests with different preconditions are the same', 'ifMatch, variant', 'variant'],
      ['requests with different queries are the same', '[method, path, query, ', '[method, path, '],
      ['requests for different media types are the same', 'ifMatch, variant, content', 'ifMatch, content'],
    ],
  ),
  ...mutantsOf('engine/idempotency/transaction', retries, [
    ['a caller with other claims gets the body', '[access.key, claims?.key, app', '[access.key, app'],
    ['another app with the same rights gets the body', 'claims?.key, app && `app ${app.id}`', 'claims?.key'],
    [
      'a caller over the limit stores long payloads',
      'if (mayStoreLong || withBody.length <= smallPayloadCharacters) return',
      'if (withBody.length > 0) return',
    ],
    ['a key is free after an hour', 'retentionMs = 24 * 60', 'retentionMs = 60'],
  ]),
  ...mutantsOf(
    'engine/idempotency/transaction',
    ['engine/idempotency/rest#of twenty concurrent requests'],
    [['a node carries out what another one has', '    if (!isFirst) throw new KeyTaken()\n', '']],
  ),
  ...mutantsOf(
    'engine/idempotency/allowance',
    ['engine/idempotency/allowance'],
    [
      ['the first unit is drawn twice', 'smallPayloadCharacters) - 1', 'smallPayloadCharacters)'],
      [
        'a write that failed uses the allowance up',
        '        counters.give(keyOf(scope), 1, daySeconds)\n',
        '',
      ],
      ['long payloads end one unit early', '<= maxUnitsOfLongPayloads', '< maxUnitsOfLongPayloads'],
      ['the allowance is one for all callers', '`idempotency:${scope}`', "'idempotency:'"],
    ],
  ),
  ...mutantsOf('engine/idempotency/readable', several, [
    ['a replay shows only what the caller may not read', '!readable.has(id)', 'readable.has(id)'],
  ]),
  ...mutantsOf('engine/idempotency/idempotency', several, [
    [
      'several hidden items break the JSON of a replay',
      'hidden.toSorted((a, b) => (b.at?.[0] ?? 0) - (a.at?.[0] ?? 0))',
      'hidden',
    ],
    [
      'a key can be used again for another request',
      "    if (stored.fingerprint !== fingerprint) throw new ApiError('IDEMPOTENCY_KEY_REUSED')\n",
      '',
    ],
  ]),
  ...mutantsOf('engine/idempotency/idempotency', retries, [
    ['a caller with other rights gets the body', 'stored.access === hashAccess(principal)', 'true'],
    [
      'a write that was undone after its commit is replayed',
      '    if (isOurs) await this.#parts.records.delete(idempotencyKind, request.id).catch(() => false)\n',
      '',
    ],
    ['an unconfirmed commit is not to be retried', 'isUnconfirmed ? retryable(error) : error', 'error'],
    ['an unconfirmed commit is an error', 'isUnconfirmed && isOurs && attempt.reply', 'false'],
  ]),
  ...mutantsOf(
    'engine/idempotency/idempotency',
    ['engine/idempotency/rest#a caller who can no longer read the item'],
    [['a replay of an id has the tag of the item', 'isWhole ? headers : withoutETag(headers)', 'headers']],
  ),
]
