/** The report of the mutation run, and the mutants that it refuses. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutantsOf } from '../../scripts/mutants/mutant.ts'
import { faultOf, missingTest } from '../../scripts/mutants/placed.ts'
import { type Outcome, report } from '../../scripts/mutants/report.ts'

const [wrong = assert.fail(), harmless = assert.fail()] = mutantsOf(
  'plan/x',
  ['plan/x'],
  [
    ['off by one', 'a < b', 'a <= b'],
    ['equivalent', 'a < b', 'b > a', 'it means the same'],
  ],
)

test('a mutant names its file and its tests', () => {
  assert.deepEqual([wrong.file, wrong.tests], ['src/plan/x.ts', ['test/plan/x.test.ts']])
})

test('a mutant is stale if its text does not occur once, or its file cannot be loaded', () => {
  assert.equal(faultOf(wrong, 'const c: boolean = a < b'), undefined)
  assert.match(faultOf(wrong, 'const c = a > b') ?? '', /occurs 0 times/)
  assert.match(faultOf(wrong, 'const c = a < b && a < b') ?? '', /occurs 2 times/)
  assert.match(faultOf({ ...wrong, instead: 'a < b' }, 'a < b') ?? '', /changes nothing/)
  assert.match(faultOf({ ...wrong, instead: 'a <' }, 'if (a < b) c()') ?? '', /no TypeScript/)
})

test('a mutant whose test file does not exist is stale', () => {
  assert.equal(
    missingTest(wrong, file => file === 'test/plan/x.test.ts'),
    undefined,
  )
  assert.match(
    missingTest({ ...wrong, tests: ['test/plan/y.test.ts#part'] }, () => false) ?? '',
    /y\.test\.ts does not exist/,
  )
})

test('equivalent mutants are not counted, survivors are listed with their reason, and stale ones are counted separately', () => {
  const noticed: Outcome = { kind: 'noticed', by: 'test/plan/x.test.ts' }
  const results = [
    { mutant: wrong, outcome: noticed },
    { mutant: wrong, outcome: { kind: 'survived' } as const },
    { mutant: harmless, outcome: { kind: 'survived' } as const },
    { mutant: { ...wrong, file: 'src/auth/y.ts' }, outcome: noticed },
    { mutant: wrong, outcome: { kind: 'stale', fault: 'its text occurs 0 times' } as const },
  ]
  const { text, share, stale } = report(results)
  assert.deepEqual([share, stale], [0.5, 1])
  assert.ok(text.includes('| src/plan | 4 | 3 | 1 | 2 | 1 | 33.3 % |'))
  assert.ok(text.includes('| src/auth | 1 | 1 | 1 | 0 | 0 | 100.0 % |'))
  assert.ok(text.includes('- src/plan/x.ts: off by one: not noticed'))
  assert.ok(text.includes('- src/plan/x.ts: equivalent: it means the same'))
  assert.ok(text.includes('- src/plan/x.ts: off by one: stale, its text occurs 0 times'))
})

test('every mutant matches the sources', () => {
  const program = join(import.meta.dirname, '..', '..', 'scripts', 'mutants', 'main.ts')
  const { status, stdout } = spawnSync(process.execPath, [...process.execArgv, program, '--text'], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, stdout)
})
