import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OauthFigure, oauthTable } from '../../bench/costs/oauth.ts'

const figure: OauthFigure = {
  work: 'introspection',
  server: 'Portico',
  ratios: [0.09, 0.11, 0.1],
  perSecond: [7000, 9000, 8000],
  floor: 0.09,
}

test('figures of W9 have their server, median, spread and floor', () => {
  const [, , row] = oauthTable([figure]).split('\n')
  assert.equal(row, '| introspection | Portico | 0.10 | 0.090–0.11 | 8,000 | ≥ 0.090 |')
})

test('a server that is only compared has no floor', () => {
  const table = oauthTable([{ ...figure, server: 'oidc-provider in memory', floor: undefined }])
  assert.match(table, /oidc-provider in memory .* 8,000 \| {2}\|$/)
})
