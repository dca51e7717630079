/** Mutants of `portico/client`. */
import { type Mutant, mutantsOf } from './mutant.ts'

const requests = ['client/requests']

const calls: readonly Mutant[] = [
  ...mutantsOf('client/query', requests, [
    ['null is no condition', "return [{ field, operator: 'null', value: 'true' }]", 'return []'],
    ['not null is null', "value: String(operator === 'eq')", "value: 'true'"],
    ['alternatives are numbered from 0', 'or[${index + 1}]', 'or[${index}]'],
    ['no alternative matches everything', 'if (or.length === 0) throw', 'if (or.length < 0) throw'],
    ['a value with a comma is two values', " || String(value).includes(',')", ''],
    ['an empty array matches everything', 'if (values.length === 0)', 'if (values.length < 0)'],
    [
      'a date is an object without conditions',
      'if (prototype === null || (prototype && Object.getPrototypeOf(prototype) === null))',
      'if (prototype !== undefined)',
    ],
  ]),
  ...mutantsOf('client/retry', requests, [
    ['every conflict is retried', '(status === 409 && retryAfter !== undefined)', 'status === 409'],
    ['Retry-After is in milliseconds', 'retryAfter * 1_000 + Math', 'retryAfter + Math'],
    ['a call waits for hours', 'waitMs > maxRetryAfterMs ? undefined : waitMs', 'waitMs'],
  ]),
  ...mutantsOf('client/connection', requests, [
    ['a redirect gets the token', "redirect: 'manual'", "redirect: 'follow'"],
    [
      'a retry is another write',
      'this.#attempt(request, headers)',
      'this.#attempt(request, headersOf(request))',
    ],
    ['a long time limit is none', 'Math.min(limitMs, maxTimerMs)', 'limitMs'],
    [
      'a slow token is waited for without a limit',
      'supplied instanceof Promise && signal ? untilAborted(supplied, signal) : supplied',
      'supplied',
    ],
    [
      'a header of a call is sent besides that of the client',
      '...lowerCased(this.#options.headers)',
      '...this.#options.headers',
    ],
  ]),
  ...mutantsOf('client/event-stream', requests, [
    ['a line end in two chunks is two', "this.#isAfterReturn && text.startsWith('\\n')", 'false'],
    ['lines of data are joined without a line end', "this.#data.join('\\n')", "this.#data.join('')"],
    ['a block has no bound', 'this.#length + this.#rest.length > maxBlockLength', 'false'],
  ]),
]

const subscriptions = mutantsOf(
  'client/subscribe',
  ['client/subscribe'],
  [
    ['an event is yielded twice', 'if (this.#isNew(event.id)) yield event', 'yield event'],
    [
      'a subscription resumes where it began',
      "this.#after = id ?? this.#after ?? '0'",
      "this.#after ??= id ?? '0'",
    ],
    ['a silent connection is kept', 'this.#silence = setTimeout(this.#stop, maxSilenceMs)', ''],
    [
      'errors that would repeat are retried',
      'if (!(this.#controller.signal.aborted || isTemporary(error))) throw error',
      '',
    ],
    ['a service that stops ends the subscription', '|| status >= 500', ''],
    ['Retry-After is ignored', '(failure?.retryAfter ?? 0) * 1_000', '0 * 1_000'],
  ],
)

const signIn: readonly Mutant[] = [
  ...mutantsOf(
    'client/sign-in/tokens',
    ['client/tabs', 'client/sign-out'],
    [
      ['a tab knows only the last refresh', '[...tokens.former, refresh].slice(-maxFormer)', '[refresh]'],
      ['a late refresh signs in again', 'if (this.#areCurrent(tokens)) {', 'if (next.access) {'],
      [
        'the tokens of a late refresh live on',
        ' else if (!this.isSignedIn) await this.#revoke(next).catch(() => undefined)',
        '',
      ],
      [
        'a late refusal signs out again',
        'if (this.#areCurrent(tokens)) this.#forget(tokens)',
        'this.#forget(tokens)',
      ],
      ['no other tab is asked', 'await this.#tabs?.ask(tokens.refresh)', 'undefined'],
      ['no other tab learns of a sign-out', '    this.#tabs?.notify(refresh, null)\n', ''],
      ['no other tab learns of new tokens', '      this.#tabs?.notify(refresh, next)\n', ''],
      [
        'tokens are refreshed when they have expired',
        'Date.now() < tokens.refreshAt',
        'Date.now() < tokens.refreshAt + 30_000',
      ],
      ['short-lived tokens are always refreshed', ', lifetimeMs / 2)', ', 0)'],
      [
        'a tab forgets that it signed out',
        'if (this.#revoked.has(refresh)) return null',
        'if (refresh === undefined) return null',
      ],
      [
        'tokens of an earlier sign-in are replaced',
        'this.#tokens?.refresh === refresh && this.#adopt(successor)',
        'this.#adopt(successor)',
      ],
    ],
  ),
  ...mutantsOf(
    'client/sign-in/tabs',
    ['client/tabs'],
    [
      ['the first tab that knows nothing decides', '--others > 0', '--others < 0'],
      [
        'a suspended tab signs the others out',
        'setTimeout(() => resolve(undefined), answerTimeoutMs)',
        'setTimeout(() => resolve(null), answerTimeoutMs)',
      ],
      [
        'tabs refresh at the same time',
        'return this.#locks.request(this.#parts.name, work)',
        'return work()',
      ],
    ],
  ),
  ...mutantsOf(
    'client/sign-in/server',
    ['client/token-response'],
    [
      [
        'a lost response ends the sign-in',
        'if (!isTemporary || attempt === refreshAttempts) throw error',
        'throw error',
      ],
      ['a response without a token is one', "typeof response?.access_token === 'string'", 'response'],
    ],
  ),
]

export const client: readonly Mutant[] = [...calls, ...subscriptions, ...signIn]
