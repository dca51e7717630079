/** Budgets and their counters. */
import { type Mutant, mutantsOf } from './mutant.ts'

const counters = ['engine/cluster/rate-limits', 'engine/cluster/shared-counters']

export const cluster: readonly Mutant[] = [
  ...mutantsOf(
    'engine/cluster/rate-limits',
    ['engine/cluster/rate-limits'],
    [
      [
        'apps without a user share the budget of their address',
        "userId === null && !budgetKey.startsWith('app:') ? addressPolicy : userPolicy",
        'userId === null ? addressPolicy : userPolicy',
      ],
      ['each IPv6 address of a customer has its own budget', '].slice(0, 4)', ']'],
      ['a /48 shares one budget', '].slice(0, 4)', '].slice(0, 3)'],
      [
        'the zone of an address makes it a different address',
        "(address.split('%')[0] ?? '').split('::')",
        "address.split('::')",
        'a zone is in the last group, which no budget uses',
      ],
      [
        'the wait is reported in milliseconds',
        'Math.max(1, resetAt - Math.floor(now / 1000))',
        'Math.max(1, resetAt - Math.floor(now))',
      ],
      [
        'Retry-After may be zero',
        'Math.max(1, resetAt - Math.floor(now / 1000))',
        'Math.max(0, resetAt - Math.floor(now / 1000))',
      ],
      [
        'a request with a higher cost draws 1',
        'const budget = counters.take(key, policy.limit, cost)',
        'const budget = counters.take(key, policy.limit, 1)',
      ],
      [
        'a request with a higher cost draws 1 from the limit of the app',
        'const ofApp = counters.take(appBudget.key, appPolicy.limit, cost)',
        'const ofApp = counters.take(appBudget.key, appPolicy.limit, 1)',
      ],
      [
        'what the limit of the app refuses still counts against its user',
        'if (!sharedBudget.granted && ownBudget.granted) counters.give(budgetKey, cost)',
        '',
      ],
      ['refusals are not counted', '    counts.refused++\n', ''],
      [
        'a refund is given only to principals without a limit',
        'if (policyFor(principal)) counters.give(principal.budgetKey, 1)',
        'if (!policyFor(principal)) counters.give(principal.budgetKey, 1)',
      ],
    ],
  ),
  ...mutantsOf('engine/cluster/memory-counters', counters, [
    [
      'the last request of a budget is refused',
      'counter.granted = counter.used + cost <= limit',
      'counter.granted = counter.used + cost < limit',
    ],
    [
      'a refused request draws from the budget',
      'if (counter.granted) counter.used += cost',
      'counter.used += cost',
    ],
    [
      'a request with a higher cost draws 1',
      'if (counter.granted) counter.used += cost',
      'if (counter.granted) counter.used += 1',
    ],
    [
      'a clock that is set back stops the windows',
      'if (seconds < this.#end && seconds >= this.#end - this.#seconds) return',
      'if (seconds < this.#end) return',
    ],
    ['a window lasts one second too long', 'if (seconds < this.#end &&', 'if (seconds <= this.#end &&'],
    [
      'a refund can exceed the amount used',
      'counter.used = Math.max(0, counter.used - cost)',
      'counter.used -= cost',
    ],
    [
      'a count of another node from another window is used',
      'if (resetAt === this.#end) this.#counterFor(key).used = used',
      'this.#counterFor(key).used = used',
    ],
    [
      'no key is evicted when there are too many',
      'if (this.#counters.size >= this.#maxKeys)',
      'if (this.#counters.size >= Number.MAX_SAFE_INTEGER)',
    ],
    ['the window of another length is new at each draw', '    byLength.set(seconds, windowsOfLength)\n', ''],
  ]),
  ...mutantsOf(
    'engine/cluster/shared-counters',
    ['engine/cluster/shared-counters', 'engine/cluster/rate-limits'],
    [
      [
        'the last request of a budget is refused',
        'counter.granted = next <= limit',
        'counter.granted = next < limit',
      ],
      [
        'of two concurrent draws by threads, one is lost',
        'if (Atomics.compareExchange(this.#words, index, used, next) === used) return counter',
        'Atomics.store(this.#words, index, next)\n      return counter',
      ],
      [
        'a slot that another key has taken is still used',
        ' &&\n      Atomics.load(this.#words, cached.slot * wordsPerSlot + generationOffset) === cached.generation',
        '',
      ],
      [
        'windows of two lengths share a counter',
        'windowSeconds === defaultWindowSeconds ? key : `${windowSeconds} ${key}`',
        'key',
      ],
      [
        'a new window starts with the count of the old one',
        '      Atomics.store(words, index + usedOffset, 0)\n',
        '',
      ],
      ['a refund can exceed the amount used', 'Math.max(0, used - cost)) === used', 'used - cost) === used'],
      [
        'the most used counter is evicted',
        'windowEnd(slot) < windowEnd(other) ||',
        'windowEnd(slot) > windowEnd(other) ||',
      ],
      [
        'a clock that is set back stops the windows',
        'current > end && current - end <= windowSeconds',
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
    'engine/cluster/redis-counters',
    ['engine/cluster/redis-counters'],
    [
      ['a refund draws', 'cost: -cost, windowSeconds', 'cost, windowSeconds'],
      ['answered draws still count as waiting', '    this.#pendingTakes -= takes.length\n', ''],
      [
        'the last count of Redis is not kept for an outage',
        '    this.#memory.setUsed(key, used, resetAt, windowSeconds)\n',
        '',
      ],
      ['windows of two lengths share a counter', 'rate:${windowSeconds}:${key}', 'rate:${key}'],
      [
        'draws that Redis does not answer are not counted',
        'settle?.({ ...this.#takeLocally(key, limit, cost, windowSeconds) })',
        'settle?.({ limit, remaining: limit, resetAt: 0, granted: true })',
      ],
      [
        'draws beyond one batch are lost',
        'for (let i = 0; i < queue.length; i += maxBatch)',
        'for (let i = 0; i < maxBatch; i += maxBatch)',
      ],
      [
        'the answers of a batch are mixed up',
        'answers.slice(3 * index, 3 * index + 3)',
        'answers.slice(index, index + 3)',
      ],
    ],
  ),
]
