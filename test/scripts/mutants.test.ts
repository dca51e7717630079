/** The report of the mutants, and which mutants cannot be applied. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { mutantsOf } from '../../scripts/mutants/mutant.ts'
import { faultOf, missingTest } from '../../scripts/mutants/placed.ts'
import { type Outcome, report } from '../../scripts/mutants/report.ts'

const [wrong = assert.fail(), equivalent = assert.fail()] = mutantsOf(
  'plan/x',
  ['plan/x'],
  [
    ['off by one', 'a < b', 'a <= b'],
    ['equivalent', 'a < b', 'b > a', 'it means the same'],
  ],
)

test('a mutant names its file and the tests that must kill it', () => {
  assert.deepEqual([wrong.file, wrong.tests], ['src/plan/x.ts', ['test/plan/x.test.ts']])
})

test('a mutant that does not apply to the sources is stale, and so is one that is not valid TypeScript', () => {
  assert.equal(faultOf(wrong, 'const c: boolean = a < b'), undefined)
  assert.match(faultOf(wrong, 'const c = a > b') ?? '', /occurs 0 times/)
  assert.match(faultOf(wrong, 'const c = a < b && a < b') ?? '', /occurs 2 times/)
  assert.match(faultOf({ ...wrong, replacement: 'a < b' }, 'a < b') ?? '', /changes nothing/)
  assert.match(faultOf({ ...wrong, replacement: 'a <' }, 'if (a < b) c()') ?? '', /not valid TypeScript/)
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

test('equivalent mutants do not count, survivors are listed with the reason, and stale ones are counted separately', () => {
  const killed: Outcome = { kind: 'killed', test: 'test/plan/x.test.ts' }
  const results = [
    { mutant: wrong, outcome: killed },
    { mutant: wrong, outcome: { kind: 'survived' } as const },
    { mutant: equivalent, outcome: { kind: 'survived' } as const },
    { mutant: { ...wrong, file: 'src/auth/y.ts' }, outcome: killed },
    { mutant: wrong, outcome: { kind: 'stale', fault: 'its text occurs 0 times' } as const },
  ]
  const { text, score, stale } = report(results)
  assert.deepEqual([score, stale], [0.5, 1])
  assert.ok(text.includes('| src/plan | 4 | 3 | 1 | 2 | 1 | 33.3 % |'))
  assert.ok(text.includes('| src/auth | 1 | 1 | 1 | 0 | 0 | 100.0 % |'))
  assert.ok(text.includes('- src/plan/x.ts: off by one: survived'))
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
