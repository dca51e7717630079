/** Which runs start after a process has ended, and in which order. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Suspects } from '../../../src/delivery/runs/suspects.ts'
import { jobRun, type LogicRun } from '../../../src/engine/logic/run.ts'

function suspects(max = 2, marked?: string) {
  const clock = { now: 1000 }
  const all = new Suspects({ max, event: 10, marked, now: () => clock.now, random: () => 0.5 })
  const next = (run: LogicRun) => {
    all.note(run)
    return all.next(run)
  }
  return { clock, next, all }
}

const run = (name: string, key: string, given: Partial<LogicRun> = {}): LogicRun => {
  const made = jobRun({ name, input: {}, dueAt: 0, depth: 0, scheduledFor: undefined }, key)
  return { ...made, ...given } as LogicRun
}

test('a suspect starts at once, and after a second end of the process after the delay of a failed attempt', () => {
  const { clock, next, all } = suspects()
  const a = run('job', 'a')
  assert.deepEqual([next(a), next(a)], ['mark', 'start'])
  assert.equal(all.isOver, false)
  all.end(a)
  assert.equal(all.isOver, true)
  const b = run('job', 'b', { processEnds: 1 })
  assert.equal(next(b), 'wait')
  clock.now += 4999
  assert.equal(next(b), 'wait')
  clock.now += 1
  assert.equal(next(b), 'mark')
})

test('a run that this node has marked before an outage of the database is not marked again', () => {
  const marked = run('job', 'a', { attempts: 1, processEnds: 1 })
  const { next, all } = suspects(2, marked.id)
  const other = run('job', 'b')
  assert.equal(next(marked), 'start')
  assert.equal(next(other), 'wait', 'one after the other')
  all.end(marked)
  assert.equal(next(other), 'mark')
  const decisive = run('job', 'c', { attempts: 2, processEnds: 2 })
  const alone = suspects(2, decisive.id)
  alone.all.note(decisive)
  assert.equal(alone.next(run('job', 'later', { dueAt: 2000 })), 'wait')
  assert.equal(alone.next(decisive), 'start')
})

test('a run that is about to be given up waits for nothing', () => {
  const { next } = suspects()
  next(run('job', 'later', { dueAt: 2000 }))
  assert.equal(next(run('job', 'a', { attempts: 2, processEnds: 2 })), 'mark')
})

test('a run during which processes have ended twice runs alone', () => {
  const { clock, next, all } = suspects()
  const others = [run('job', 'later', { dueAt: 2000 }), run('other', 'later', { dueAt: 2000 })] as const
  const decisive = run('job', 'a', { attempts: 1, processEnds: 1 })
  assert.deepEqual([next(decisive), next(others[0])], ['wait', 'start'])
  clock.now += 20_000
  assert.equal(next(decisive), 'wait', 'one that has started before it is in progress')
  assert.equal(next(others[1]), 'wait')
  all.end(others[0])
  assert.deepEqual([next(decisive), next(others[1]), next(decisive)], ['mark', 'wait', 'start'])
  all.end(decisive)
  assert.equal(next(others[1]), 'start')
})

test('each reaction and job has suspects of its own, and its retries do not use up the places of first starts', () => {
  const { clock, next, all } = suspects()
  const retries = ['1', '2', '3'].map(key => run('job', key, { attempts: 2 }))
  const firsts = ['a', 'b', 'c'].map(key => run('job', key))
  const marked = run('job', 'marked', { attempts: 1, processEnds: 1 })
  const other = run('other', 'a')
  const runs = [...retries, ...firsts, marked, other]
  for (const each of runs) all.note(each)
  clock.now += 20_000
  const order: string[] = []
  for (let round = 0; round < runs.length; round++) {
    const turn = runs.find(each => !order.includes(each.id) && next(each) === 'mark')
    if (turn === undefined) break
    order.push(turn.id)
    all.end(turn)
  }
  assert.deepEqual(order, ['job/1', 'job/2', 'job/a', 'job/b', 'job/marked', 'other/a'])
  // Those that were not in progress start unmarked, once none of their name is a suspect.
  for (const each of [retries[2], firsts[2]]) assert.equal(each && next({ ...each, dueAt: 5000 }), 'start')
})

test('what was not due when the process ended starts at once, and so does everything after an orderly stop', () => {
  const { next } = suspects()
  next(run('job', 'a'))
  assert.equal(next(run('job', 'later', { dueAt: 1001 })), 'start')
  assert.equal(next(run('job', 'new', { event: 11 } as Partial<LogicRun>)), 'start')
  const { next: nextAfterStop } = suspects(0)
  assert.equal(nextAfterStop(run('job', 'a', { attempts: 1, processEnds: 2 })), 'start')
})
