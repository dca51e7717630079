/**
 * How a service reports slow lists: in its log, in `Server-Timing`, by `portico explain-queries`, and by refusing them.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { SlowRuns } from '../../../src/engine/store/advice/slow-lists.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { createLog } from '../../../src/server/observability/log.ts'
import {
  logSlowList,
  SlowListRecorder,
  storedLists,
} from '../../../src/server/serve/monitoring/slow-lists.ts'
import { parseArguments } from '../../../src/tools/cli/commands/commands.ts'
import { command } from '../../../src/tools/cli/commands/explain-queries.ts'
import { blog, withFile } from '../../engine/store/blog.ts'
import { type TestService, withService } from './service.ts'

const slow: SlowRuns = {
  request: 'GET /posts?status=…&sort=-title',
  scannedRows: 100_000,
  returnedRows: 20,
  summary: 'scans about 100000 posts',
  indexes: [],
  index: "index('status', '-title')",
  advice: "In collection `posts`, add `index('status', '-title')`.",
  isRefused: false,
  runs: 3,
}

test('a slow list is one log entry, a warning over 10,000 rows, without filter values', () => {
  const lines: string[] = []
  const { logger } = createLog({ logLevel: 'info' }, { write: line => void lines.push(line) })
  const tell = logSlowList(logger)
  tell(slow)
  tell({ ...slow, scannedRows: 5000 })
  tell({ ...slow, scannedRows: 5000, isRefused: true })
  const [first, second, third] = lines.map(line => {
    const { time: _time, ...entry } = JSON.parse(line)
    return entry
  })
  assert.deepEqual(first, {
    level: 40,
    request: 'GET /posts?status=…&sort=-title',
    rows_scanned: 100_000,
    rows_returned: 20,
    indexes: [],
    msg: "slow list: it scans about 100000 posts. In collection `posts`, add `index('status', '-title')`.",
  })
  assert.deepEqual([second.level, third.level], [30, 40])
  assert.match(third.msg, /more than PORTICO_MAX_SCAN allows: it is refused/)
})

test('reports of several nodes are added up and limited in number, and nothing is written while nothing is slow', () =>
  withFile(async file => {
    const store = openSqlite(blog, { file })
    let waiting: SlowRuns[] = []
    const insight = {
      takeSlow: () => waiting.splice(0),
      describe: () => undefined,
    }
    const nodes = [1, 2].map(() => new SlowListRecorder({ insight, records: store.records }))
    const { commits } = store.counts()
    for (const node of nodes) await node.flush()
    assert.equal(store.counts().commits, commits)
    for (const node of nodes) {
      waiting = [slow]
      await node.flush()
    }
    const [stored, ...others] = await storedLists(store.records)
    assert.deepEqual(
      [stored?.request, stored?.runs, stored?.scannedRows, others],
      [slow.request, 6, 100_000, []],
    )
    // The cheapest entries are replaced, and one cheaper than all others is not kept.
    waiting = Array.from({ length: 505 }, (_, index) => ({
      ...slow,
      request: `GET /posts?sort=f${index}`,
      runs: index,
    }))
    await nodes[0]?.flush()
    const all = await storedLists(store.records)
    assert.equal(all.length, 500)
    assert.equal(all[0]?.request, 'GET /posts?sort=f504')
    assert.ok(!all.some(({ request }) => request === 'GET /posts?sort=f0'))
    for (const node of nodes) await node.close()
    await store.close()
  }))

function addPosts({ file }: TestService, count: number): void {
  const database = new DatabaseSync(file)
  database
    .prepare(
      `INSERT INTO "posts" ("title", "author_id", "created_at") WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < ?) SELECT 'title ' || n, 1, '2026-01-01T00:00:00.000Z' FROM c`,
    )
    .run(count)
  database.close()
}

const sorted = '/api/v1/posts?sort=title'
const document = { query: '{ posts(orderBy: [TITLE_ASC]) { id } }' }

test('Server-Timing estimates the rows of a list, and portico explain-queries lists slow requests', () =>
  withService({ serverTiming: true }, async service => {
    addPosts(service, 2000)
    const timing = async (path: string, body?: unknown) => {
      const { status, headers } = await service.call(path, body === undefined ? {} : { method: 'POST', body })
      assert.equal(status, 200)
      return headers.get('server-timing') ?? ''
    }
    const expected = /^db;dur=\d+(?:\.\d+)?;desc="scans about 2000 posts; index\('title'\)"$/
    assert.match(await timing(sorted), expected)
    assert.match(await timing(sorted), expected)
    assert.match(await timing('/graphql', document), expected)
    assert.match(await timing('/api/v1/posts'), /^db;dur=\d+(?:\.\d+)?;desc="reads about \d+ posts"$/)
    assert.match(await timing('/api/v1/posts/1'), /^db;dur=\d+(?:\.\d+)?$/)
    await wait(500)
    await service.service.close()
    const model = join(import.meta.dirname, '../../models/blog.ts')
    const database = service.file
    const printQueries = (...options: string[]) => {
      const explainCommand = { ...command, name: 'explain-queries', sentence: '' }
      return command.run(
        parseArguments(explainCommand, [...options, '--model', model, '--database', database]),
      )
    }
    const [head, first, advice] = (await printQueries()).split('\n')
    assert.equal(head, '    runs  rows scanned  rows returned  request')
    assert.match(String(first), /^ {7}1 {10}2000 {13}(?:20|10) {2}(?:GET|GraphQL) \/posts\?sort=title$/)
    assert.equal(advice, "          It scans about 2000 posts. In collection `posts`, add `index('title')`.")
    const requests = JSON.parse(await printQueries('--json')).map(
      ({ request }: { request: string }) => request,
    )
    assert.deepEqual(requests.toSorted(), ['GET /posts?sort=title', 'GraphQL /posts?sort=title'])
  }))

test('Server-Timing is off by default; PORTICO_MAX_SCAN refuses lists that scan more rows', () =>
  withService({ maxScan: 1000 }, async service => {
    addPosts(service, 2000)
    const { status, code, json, headers } = await service.call(sorted)
    assert.deepEqual([status, code, headers.get('server-timing')], [400, 'SCAN_TOO_LARGE', null])
    assert.match(JSON.stringify(json), /would read more than 1000 rows, which is the limit/)
    const graphql = await service.call('/graphql', { method: 'POST', body: document })
    assert.match(graphql.text, /"code":"SCAN_TOO_LARGE"/)
    assert.equal((await service.call('/api/v1/posts')).status, 200)
    assert.equal((await service.call('/api/v1/posts?page=80')).status, 400)
  }))
