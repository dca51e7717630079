/** Which tests a run consists of. What they need besides npm's packages is found or installed first, or they are left out. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { readSources } from '../../scripts/layers.ts'
import { lackingFiles } from '../needs.ts'
import { debianFolders, installedPath, programs } from '../programs.ts'
import { filesReaching, partsOf, testFiles } from '../selection.ts'

const root = join(import.meta.dirname, '..', '..')
const isRootOnDebian = process.getuid?.() === 0 && existsSync('/etc/debian_version')
const work = mkdtempSync(join(tmpdir(), 'portico-needs-'))
after(() => rmSync(work, { recursive: true, force: true }))

function createProgram(folder: string, name: string): string {
  const path = join(folder, name)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, '#!/bin/sh\n', { mode: 0o755 })
  return path
}

describe('a program', () => {
  it('is found in a folder that its package created after the first search', () => {
    const base = join(work, 'postgresql')
    const program = { names: ['initdb-of-the-test'], folders: () => debianFolders(base) }
    assert.deepEqual(debianFolders(base), [])
    assert.equal(installedPath(program), undefined)
    createProgram(join(base, '9', 'bin'), 'initdb-of-the-test')
    const newest = createProgram(join(base, '17', 'bin'), 'initdb-of-the-test')
    assert.equal(installedPath(program), newest)
  })
})

describe('the files that lack a program', () => {
  const files = testFiles([])
  const lackingOn = (...missing: readonly string[]) => lackingFiles(files, name => !missing.includes(name))

  it('are those that call for it, and those that import these', () => {
    assert.deepEqual(lackingOn(), [])
    const withoutPostgres = lackingOn('initdb').map(({ file }) => file)
    // Starts a server; uses the one of the run; imports a fixture that does.
    for (const file of [
      'system/faults/migrate',
      'setups/databases',
      'engine/store/counts',
      'system/matrix/rest',
    ]) {
      const named = withoutPostgres.filter(name => name.startsWith(`test/${file}`))
      assert.ok(named.length > 0, file)
    }
    assert.ok(!withoutPostgres.some(file => file.startsWith('test/model/')))
    assert.ok(withoutPostgres.length < files.length / 2)
  })

  it('name each of the programs', () => {
    const lacks = lackingFiles(files, () => false).flatMap(lacking => lacking.lacks)
    assert.deepEqual([...new Set(lacks)].sort(), Object.keys(programs).sort())
  })

  it('are found, since every call names its program', () => {
    for (const { file, text } of readSources(join(root, 'test'))) {
      if (file === 'programs.ts' || file === 'scripts/selection.test.ts') continue
      const calls = text.match(/\bfindProgram\(/g) ?? []
      const named = text.match(/\bfindProgram\('[\w-]+'\)/g) ?? []
      assert.equal(named.length, calls.length, file)
    }
  })
})

interface Selection {
  readonly code: number
  readonly files: readonly string[]
  readonly output: string
}

/** What `npm test` does before the first test, on a machine whose only program is an apt-get that runs `install`. */
function select(names: readonly string[], install: string, env: NodeJS.ProcessEnv = {}): Promise<Selection> {
  const bin = mkdtempSync(join(work, 'bin-'))
  const apt = `#!/bin/sh\n[ "$2" = install ] || exit 0\nBIN=${bin}\n${install}\n`
  writeFileSync(join(bin, 'apt-get'), apt, { mode: 0o755 })
  const program = `import { selectTests } from '${pathToFileURL(join(root, 'scripts', 'selection.mjs'))}'
    const { files } = await selectTests(process.execPath, ${JSON.stringify(names)})
    process.stdout.write(JSON.stringify(files))`
  return new Promise(resolve =>
    execFile(
      process.execPath,
      ['--input-type=module', '--eval', program],
      { env: { PATH: bin, ...env } },
      (error, files, output) =>
        resolve({ code: error ? 1 : 0, files: files === '' ? [] : JSON.parse(files), output }),
    ),
  )
}

describe('before the first test', () => {
  const names = ['test/system/browser/docs.test.ts', 'test/model/schedule.test.ts']
  const [browser = '', schedule = ''] = names
  const fails = 'exit 100'
  const succeeds = 'printf "#!/bin/sh\\n" > $BIN/chromium; /bin/chmod +x $BIN/chromium'

  it('the files that lack a program are left out in one line that says which and how to get them', async () => {
    const { code, files, output } = await select(names, fails)
    assert.deepEqual([code, files], [0, [schedule]], output)
    const line = output.split('\n').filter(text => !text.startsWith('Installing'))
    assert.match(
      line.join('\n'),
      /^1 of 2 test files are left out, for lack of Chromium \(1\)\. To get them: .+`apt install chromium-headless-shell`.+\n$/,
    )
  })

  it('what is missing is installed once by root on Debian, and said', async () => {
    const { code, files, output } = await select(names, succeeds)
    if (!isRootOnDebian) return assert.match(output, /left out/)
    assert.deepEqual([code, files], [0, [browser, schedule]], output)
    assert.equal(output, 'Installing with apt-get (once): chromium-headless-shell …\n')
  })

  it('a run of which nothing is left fails, and in CI a run of which something is left out', async () => {
    assert.equal((await select([browser], fails)).code, 1)
    const inCi = await select(names, fails, { CI: 'true' })
    assert.equal(inCi.code, 1)
    assert.match(inCi.output, /every test must run/)
    assert.deepEqual((await select([schedule], fails, { CI: 'true' })).files, [schedule])
  })

  it('a name that no test file has is an error', async () => {
    const { code, output } = await select(['test/no-such-folder'], fails)
    assert.deepEqual([code, output.trim()], [1, 'No test file is named test/no-such-folder.'])
  })
})

describe('the two runs', () => {
  const files = testFiles([])
  const quick = new Set(testFiles(['--quick']))
  const rest = new Set(testFiles(['--rest']))

  it('have every file between them', () => {
    assert.deepEqual(
      files.filter(file => !quick.has(file) && !rest.has(file)),
      [],
    )
  })

  it('are told apart by what a test starts', () => {
    assert.deepEqual(partsOf('test/engine/plan/cursor.test.ts'), { quick: true, rest: false })
    assert.deepEqual(partsOf('test/api/contract/rest/blog.test.ts'), { quick: true, rest: true })
    assert.deepEqual(partsOf('test/tools/cli/cli.test.ts'), { quick: false, rest: true })
    assert.deepEqual(partsOf('test/system/browser/oauth.test.ts'), { quick: false, rest: true })
    assert.deepEqual(partsOf('test/engine/store/copy/postgres.test.ts'), { quick: false, rest: true })
    assert.deepEqual(partsOf('test/system/smoke/consent.test.ts'), { quick: true, rest: false })
  })
})

describe('what a change can reach', () => {
  const files = testFiles([])

  it('are the tests that import it, and those that start it as a process', () => {
    assert.deepEqual(filesReaching(['test/engine/plan/cursor.test.ts'], files), [
      'test/engine/plan/cursor.test.ts',
    ])
    const reached = filesReaching(['src/engine/plan/cursor.ts'], files)
    assert.ok(reached.includes('test/engine/plan/cursor.test.ts'))
    assert.ok(reached.includes('test/tools/cli/cli.test.ts'), 'it starts src/bin.ts')
    assert.ok(!reached.includes('test/base/unicode/unicode.test.ts'))
  })

  it('are the tests of the pages, and all tests if packages change', () => {
    const pages = filesReaching(['docs/rest.md'], files)
    assert.ok(pages.length > 0 && pages.every(file => file.startsWith('test/docs/')))
    assert.deepEqual(filesReaching(['package-lock.json'], files), files)
    assert.deepEqual(filesReaching([], files), [])
  })
})
