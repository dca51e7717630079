/** The metrics of GraphQL in `/metrics`. */
import type { BoundOperation } from './engine.ts'

/** Upper bounds of the histogram's buckets, in points of cost. */
const costBounds = [1, 5, 10, 50, 100, 500, 1000, 5000]
const operationKinds = ['query', 'mutation', 'subscription'] as const

export class GraphqlMetrics {
  readonly #started = { query: 0, mutation: 0, subscription: 0 }
  readonly #costCounts = new Float64Array(costBounds.length + 1)
  #costSum = 0
  refused = 0
  /** Replies sent to subscribers. */
  events = 0
  slowReaders = 0
  /** Open subscriptions, and open WebSocket connections. */
  subscriptions = 0
  connections = 0

  onStarted({ prepared, cost }: BoundOperation): void {
    this.#started[prepared.operation]++
    this.#costSum += cost
    const index = costBounds.findIndex(bound => cost <= bound)
    const bucket = index === -1 ? costBounds.length : index
    this.#costCounts[bucket] = (this.#costCounts[bucket] ?? 0) + 1
  }

  /** In the text format of Prometheus. */
  text(): string {
    const series = operationKinds.map(kind => `{kind="${kind}"} ${this.#started[kind]}`)
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
    const buckets = [...this.#costCounts].map((count, index) => {
      total += count
      return `_bucket{le="${costBounds[index] ?? '+Inf'}"} ${total}`
    })
    const series = [...buckets, `_sum ${this.#costSum}`, `_count ${total}`]
    return block('cost', 'histogram', 'Cost of operations, in points.', series)
  }
}

function block(name: string, type: string, help: string, series: readonly string[]): string[] {
  const fullName = `portico_graphql_${name}`
  return [
    `# HELP ${fullName} ${help}`,
    `# TYPE ${fullName} ${type}`,
    ...series.map(sample => `${fullName}${sample}`),
  ]
}
