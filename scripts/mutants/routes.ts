/** Routes and `once`: forged requests, effects made twice, budgets and answers of others. */
import { type Mutant, mutantsOf } from './mutant.ts'

const verify = ['api/routes/verify']
const signed = ['api/routes/signed']
const answers = ['api/routes/answers']

export const routes: readonly Mutant[] = [
  ...mutantsOf('api/routes/verify', verify, [
    [
      'any signature is right',
      "if (!isRight) throw new SignatureRefused('No signature is that of a secret.')",
      '',
    ],
    ['only the last signature counts', 'isRight = isEqual || isRight', 'isRight = isEqual'],
    [
      'late signatures are accepted',
      'if (Math.abs(age) <= toleranceSeconds) return',
      'if (age < 1e9) return',
    ],
    [
      'signatures from the future are accepted',
      'if (Math.abs(age) <= toleranceSeconds) return',
      'if (age <= toleranceSeconds) return',
    ],
    ['an empty secret is a key', "typeof each === 'string' && each !== ''", "typeof each === 'string'"],
    ['no secret is a key', 'secrets.length > 0 && ', ''],
    ['the time is not signed', 'signed: [`${seconds}.`, body]', 'signed: [`${now()}.`, body]'],
  ]),
  ...mutantsOf(
    'api/routes/routes',
    ['api/routes/running'],
    [
      ['an ended call keeps its place', 'connection.onClose(() => this.#parts.running.release(key))', ''],
      [
        'all callers share their running calls',
        '`${this.#route.name} ${this.#principal.budgetKey}`',
        'this.#route.name',
      ],
      [
        'all routes share their running calls',
        '`${this.#route.name} ${this.#principal.budgetKey}`',
        'this.#principal.budgetKey',
      ],
    ],
  ),
  ...mutantsOf('api/routes/routes', signed, [
    ['strangers use up the budget of the route', 'this.#parts.giveRoute(this.#route)', ''],
    ['the reason of a refusal is not logged', '{ reason })', '{})'],
    ['a route may forget to verify', 'if (this.#parts.isDevelopment) throw new Error(message)', ''],
    [
      'whoever is not admitted draws from nothing',
      'await this.#parts.draw(this.#principal, this.#call)\n      throw error',
      'throw error',
    ],
  ]),
  ...mutantsOf('api/routes/routes', answers, [
    ['the code goes on when its client has gone', 'this.#code.end(new ClientGone())', ''],
    ['a stream does not clean up', 'this.#code.release(() => iterator.return?.())', ''],
    [
      'jobs of a stream are lost',
      'await code.requireAwaited()\n      await this.#storeJobs()',
      'await code.requireAwaited()',
    ],
  ]),
  ...mutantsOf('api/routes/answer', answers, [
    ['headers break out of their line', 'if (forbiddenInValue.test(value))', "if (value === '\\0')"],
    ['a route sets the cookies of the account pages', "lower === 'set-cookie' && ", "lower === 'cookie' && "],
    ['headers of the connection are passed on', 'ownHeaders.has(lower) || ', ''],
  ]),
  ...mutantsOf(
    'engine/logic/operations/transaction',
    ['delivery/logic/once#SQLite'],
    [
      [
        'a key is not looked at',
        "!(yield { kind: 'add', record: once })",
        "!(yield { kind: 'put', record: once })",
      ],
    ],
  ),
  ...mutantsOf(
    'engine/logic/operations/once',
    ['delivery/logic/once#SQLite'],
    [
      ['all runs have one key', '[place, ownKey]', '[place]'],
      ['keys have no bound', ' || key.length > maxKeyCharacters', ''],
    ],
  ),
  ...mutantsOf('engine/cluster/rate-limits', signed, [
    [
      'a route has no limit',
      'if (!budget.granted) throw refusal(budget,',
      'if (false) throw refusal(budget,',
    ],
  ]),
  ...mutantsOf(
    'engine/logic/operations/access',
    ['api/routes/requests'],
    [
      [
        'everybody may call a route',
        "access) === 'always') return\n  throw refusal(access, `call the route",
        'access) !== null) return\n  throw refusal(access, `call the route',
      ],
    ],
  ),
]
