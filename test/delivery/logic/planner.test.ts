/** When scheduled jobs are due. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Planner } from '../../../src/delivery/runs/jobs/planner.ts'
import { every } from '../../../src/index.ts'
import { handler, logic } from './fixture.ts'

const model = logic({
  jobs: {
    tick: every(
      'hour',
      handler(() => undefined),
    ),
  },
})
const hourMs = 3_600_000

test('a position that was stored while the clock was years ahead does not keep a job from running', () => {
  const now = Date.parse('2026-06-01T10:30:00Z')
  const [job] = model.logic.jobs.values()
  const timeZone = job?.timeZone
  assert.ok(timeZone)
  const until = Date.parse('2036-01-01T00:00:00Z')
  const planner = new Planner(model, { tick: { schedule: 'hour', timeZone, until } }, () => undefined)
  assert.deepEqual(planner.plan(now), [])
  assert.equal(planner.next, now + hourMs / 2)
  assert.equal(planner.plan(now + hourMs).length, 1)
})

test('a changed schedule, or time zone, begins anew', () => {
  const now = Date.parse('2026-06-01T10:30:00Z')
  const [job] = model.logic.jobs.values()
  const timeZone = job?.timeZone ?? ''
  const longAgo = now - 48 * hourMs
  for (const before of [
    { schedule: 'day', timeZone },
    { schedule: 'hour', timeZone: 'Asia/Tokyo' },
  ]) {
    const missed: string[] = []
    const planner = new Planner(model, { tick: { ...before, until: longAgo } }, name => missed.push(name))
    assert.deepEqual([planner.plan(now), missed], [[], []])
    assert.deepEqual(planner.planned, { tick: { schedule: 'hour', timeZone, until: now } })
  }
})

test('a position of a few minutes ahead, as that of another node, is kept', () => {
  const now = Date.parse('2026-06-01T10:59:00Z')
  const [job] = model.logic.jobs.values()
  const until = Date.parse('2026-06-01T11:00:00Z')
  const planner = new Planner(
    model,
    { tick: { schedule: 'hour', timeZone: job?.timeZone ?? '', until } },
    () => undefined,
  )
  assert.deepEqual(planner.plan(now), [])
  assert.equal(planner.next, until + hourMs)
})
