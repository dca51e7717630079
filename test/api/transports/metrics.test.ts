import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { BoundOperation } from '../../../src/api/graphql/engine.ts'
import { GraphqlMetrics } from '../../../src/api/graphql/metrics.ts'
import { ApiError } from '../../../src/base/errors.ts'
import { Quota } from '../../../src/base/quota.ts'

const bound = (operation: 'query' | 'mutation' | 'subscription', cost: number): BoundOperation => ({
  outcome: 'bound',
  prepared: { outcome: 'prepared', operation, operationName: undefined },
  cost,
})

describe('the metrics', () => {
  it('count operations by kind, and costs in cumulative buckets', () => {
    const metrics = new GraphqlMetrics()
    for (const cost of [1, 5, 6, 5000, 5001]) metrics.onStarted(bound('query', cost))
    metrics.onStarted(bound('mutation', 10))
    const lines = metrics.text().split('\n')
    for (const line of [
      'portico_graphql_operations_total{kind="query"} 5',
      'portico_graphql_operations_total{kind="mutation"} 1',
      'portico_graphql_operations_total{kind="subscription"} 0',
      'portico_graphql_cost_bucket{le="1"} 1',
      'portico_graphql_cost_bucket{le="5"} 2',
      'portico_graphql_cost_bucket{le="10"} 4',
      'portico_graphql_cost_bucket{le="1000"} 4',
      'portico_graphql_cost_bucket{le="5000"} 5',
      'portico_graphql_cost_bucket{le="+Inf"} 6',
      'portico_graphql_cost_sum 10023',
      'portico_graphql_cost_count 6',
    ]) {
      assert.ok(lines.includes(line), line)
    }
  })
  it('have a HELP and a TYPE line each', () => {
    const lines = new GraphqlMetrics().text().trim().split('\n')
    const names = new Set(
      lines
        .filter(line => !line.startsWith('#'))
        .map(line => /^\w+?(?=(_bucket|_sum|_count)?[ {])/.exec(line)?.[0]),
    )
    assert.equal(names.size, 7)
    for (const name of [...names].map(String)) {
      assert.equal(lines.filter(line => line.startsWith(`# HELP ${name} `)).length, 1, name)
      assert.equal(lines.filter(line => line.startsWith(`# TYPE ${name} `)).length, 1, name)
    }
  })
})

describe('a quota', () => {
  it('is counted for each caller, and what is released can be taken again', () => {
    const quota = new Quota(2, 'things')
    const isLimited = (error: unknown) => error instanceof ApiError && error.code === 'RATE_LIMITED'
    quota.take('a')
    quota.take('a')
    assert.throws(() => quota.take('a'), isLimited)
    quota.take('b')
    quota.release('a')
    quota.take('a')
    assert.throws(() => quota.take('a'), isLimited)
  })
  it('of zero allows nothing', () => {
    assert.throws(() => new Quota(0, 'things').take('a'), /have 0 open things; the maximum is 0/)
  })
})
