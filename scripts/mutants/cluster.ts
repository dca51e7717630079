/** Budgets and their counters. */
import { type Mutant, mutantsOf } from './mutant.ts'

const counters = ['cluster/rate-limits', 'cluster/shared-counters']

export const cluster: readonly Mutant[] = [
  ...mutantsOf(
    'cluster/rate-limits',
    ['cluster/rate-limits'],
    [
      [
        'apps without a user have the budget of an address',
        "userId === null && !budgetKey.startsWith('app:') ? byAddress : byUser",
        'userId === null ? byAddress : byUser',
      ],
      ['every IPv6 address of a customer has a budget', '].slice(0, 4)', ']'],
      ['one budget for a /48', '].slice(0, 4)', '].slice(0, 3)'],
      [
        'the zone of an address makes another of it',
        "(address.split('%')[0] ?? '').split('::')",
        "address.split('::')",
        'a zone stands in the last group, of which no budget knows',
      ],
      [
        'the wait is told in milliseconds',
        'Math.max(1, resetAt - Math.floor(now / 1000))',
        'Math.max(1, resetAt - Math.floor(now))',
      ],
      [
        'who is told to wait for no time',
        'Math.max(1, resetAt - Math.floor(now / 1000))',
        'Math.max(0, resetAt - Math.floor(now / 1000))',
      ],
      [
        'a request that costs more draws one',
        'counters.take(budgetKey, rule.limit, cost)',
        'counters.take(budgetKey, rule.limit, 1)',
      ],
      ['refusals are not counted', '    counts.refused++\n', ''],
      [
        'what was given back counts',
        'if (ruleOf(principal)) counters.give(principal.budgetKey, 1)',
        'if (!ruleOf(principal)) counters.give(principal.budgetKey, 1)',
      ],
    ],
  ),
  ...mutantsOf('cluster/memory-counters', counters, [
    [
      'the last request of a budget is refused',
      'counter.granted = counter.used + cost <= limit',
      'counter.granted = counter.used + cost < limit',
    ],
    ['a refused request uses budget up', 'if (counter.granted) counter.used += cost', 'counter.used += cost'],
    [
      'a request that costs more draws one',
      'if (counter.granted) counter.used += cost',
      'if (counter.granted) counter.used += 1',
    ],
    [
      'a clock that was set back stops the windows',
      'if (seconds < this.#end && seconds >= this.#end - this.#seconds) return',
      'if (seconds < this.#end) return',
    ],
    ['a window goes on for one second more', 'if (seconds < this.#end &&', 'if (seconds <= this.#end &&'],
    ['more is given back than was used', 'known.used = Math.max(0, known.used - cost)', 'known.used -= cost'],
    [
      'what was used elsewhere in another window counts',
      'if (resetAt === this.#end) this.#counter(key).used = used',
      'this.#counter(key).used = used',
    ],
    [
      'of too many keys none is forgotten',
      'if (this.#counters.size >= this.#maxKeys)',
      'if (this.#counters.size >= Number.MAX_SAFE_INTEGER)',
    ],
    ['windows of another length are new each time', '    byLength.set(seconds, known)\n', ''],
  ]),
  ...mutantsOf(
    'cluster/shared-counters',
    ['cluster/shared-counters', 'cluster/rate-limits'],
    [
      [
        'the last request of a budget is refused',
        'counter.granted = next <= limit',
        'counter.granted = next < limit',
      ],
      [
        'two threads that count at once lose one',
        'if (Atomics.compareExchange(this.#words, at, used, next) === used) return counter',
        'Atomics.store(this.#words, at, next)\n      return counter',
      ],
      [
        'a slot that was given to another key is used on',
        ' &&\n      Atomics.load(this.#words, known.slot * wordsPerSlot + generationOffset) === known.generation',
        '',
      ],
      [
        'windows of two lengths share a counter',
        'window === defaultWindowSeconds ? key : `${window} ${key}`',
        'key',
      ],
      ['a new window begins with what was used', '      Atomics.store(words, at + usedOffset, 0)\n', ''],
      ['more is given back than was used', 'Math.max(0, used - cost)) === used', 'used - cost) === used'],
      [
        'the counter that matters most is forgotten',
        'return ends(slot) < ends(other) ||',
        'return ends(slot) > ends(other) ||',
      ],
      [
        'a clock that was set back stops the windows',
        'current > end && current - end <= window',
        'current > end',
      ],
      [
        'two keys share a slot',
        'if (current === 0n || current === tag) return slot',
        'if (current === 0n || current !== tag) return slot',
      ],
    ],
  ),
  ...mutantsOf(
    'cluster/redis-counters',
    ['cluster/redis-counters'],
    [
      ['giving back takes', 'cost: -cost, window', 'cost, window'],
      ['takes that were answered wait on', '    this.#waiting -= takes.length\n', ''],
      [
        'what Redis says is not remembered for its absence',
        '    this.#memory.note(key, used, resetAt, window)\n',
        '',
      ],
      ['windows of two lengths share a counter', 'rate:${window}:${key}', 'rate:${key}'],
      [
        'takes that Redis does not answer are not counted',
        'settle?.({ ...this.#alone(key, limit, cost, window) })',
        'settle?.({ limit, remaining: limit, resetAt: 0, granted: true })',
      ],
      [
        'takes beyond a batch are lost',
        'for (let at = 0; at < queue.length; at += maxBatch)',
        'for (let at = 0; at < maxBatch; at += maxBatch)',
      ],
      [
        'the answers of a batch are mixed up',
        'answers.slice(3 * at, 3 * at + 3)',
        'answers.slice(at, at + 3)',
      ],
    ],
  ),
]
