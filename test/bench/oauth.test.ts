import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OauthMeasurement, oauthTable } from '../../bench/costs/oauth.ts'

const measurement: OauthMeasurement = {
  work: 'introspection',
  server: 'Portico',
  ratios: [0.09, 0.11, 0.1],
  perSecond: [7000, 9000, 8000],
  floor: 0.09,
}

test('measurements of W9 have their server, median, spread and floor', () => {
  const [, , row] = oauthTable([measurement]).split('\n')
  assert.equal(row, '| introspection | Portico | 0.10 | 0.090–0.11 | 8,000 | ≥ 0.090 |')
})

test('a server that is only compared has no floor', () => {
  const table = oauthTable([{ ...measurement, server: 'oidc-provider in memory', floor: undefined }])
  assert.match(table, /oidc-provider in memory .* 8,000 \| {2}\|$/)
})
