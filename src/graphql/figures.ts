/** What `/metrics` tells of GraphQL. */
import type { Bound } from './engine.ts'

/** Upper bounds, in points of cost. */
const bounds = [1, 5, 10, 50, 100, 500, 1000, 5000]
const kinds = ['query', 'mutation', 'subscription'] as const

export class Figures {
  readonly #started = { query: 0, mutation: 0, subscription: 0 }
  readonly #costs = new Float64Array(bounds.length + 1)
  #costSum = 0
  refused = 0
  events = 0
  slowReaders = 0
  /** Open subscriptions and WebSocket connections. */
  subscriptions = 0
  connections = 0

  started({ prepared, cost }: Bound): void {
    this.#started[prepared.operation]++
    this.#costSum += cost
    const at = bounds.findIndex(bound => cost <= bound)
    const bucket = at === -1 ? bounds.length : at
    this.#costs[bucket] = (this.#costs[bucket] ?? 0) + 1
  }

  /** In the text format of Prometheus. */
  text(): string {
    const series = kinds.map(kind => `{kind="${kind}"} ${this.#started[kind]}`)
    return [
      ...block('operations_total', 'counter', 'Operations that began, by kind.', series),
      ...block('refused_total', 'counter', 'Requests of which nothing was executed.', [` ${this.refused}`]),
      ...block('events_delivered_total', 'counter', 'Replies sent to subscribers.', [` ${this.events}`]),
      ...block(
        'slow_readers_total',
        'counter',
        'Connections that were dropped because their reader was slow.',
        [` ${this.slowReaders}`],
      ),
      ...block('subscriptions', 'gauge', 'Open subscriptions.', [` ${this.subscriptions}`]),
      ...block('connections', 'gauge', 'Open WebSocket connections.', [` ${this.connections}`]),
      ...this.#histogram(),
      '',
    ].join('\n')
  }

  #histogram(): string[] {
    let total = 0
    const buckets = [...this.#costs].map((count, at) => {
      total += count
      return `_bucket{le="${bounds[at] ?? '+Inf'}"} ${total}`
    })
    const series = [...buckets, `_sum ${this.#costSum}`, `_count ${total}`]
    return block('cost', 'histogram', 'Cost of operations, in points.', series)
  }
}

function block(name: string, type: string, help: string, series: readonly string[]): string[] {
  const full = `portico_graphql_${name}`
  return [`# HELP ${full} ${help}`, `# TYPE ${full} ${type}`, ...series.map(one => `${full}${one}`)]
}
