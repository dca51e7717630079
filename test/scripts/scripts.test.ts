import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
// @ts-expect-error A plain script without types: it runs before any compiler is there.
import { completeLock, platformEntry, separatePrebuilt } from '../../scripts/lock.mjs'
// @ts-expect-error As above.
import { capture, libraryFault, run } from '../../scripts/node.mjs'
// @ts-expect-error As above.
import { isInstalled } from '../../scripts/packages.mjs'

const root = join(import.meta.dirname, '..', '..')

describe('the scripts', () => {
  it('choose a Node only when packages are installed', () => {
    const folder = join(root, 'scripts')
    const asking = readdirSync(folder)
      .filter(name => name.endsWith('.mjs') && !['node.mjs', 'build.mjs', 'pack.mjs'].includes(name))
      .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
      .filter(({ text }) => text.includes('chosenNode()'))
    assert.ok(asking.length >= 4)
    for (const { name, text } of asking) {
      const installed = text.search(/await (install|prepareToServe)\(\)/)
      assert.ok(installed >= 0 && installed < text.indexOf('chosenNode()'), name)
    }
  })
})

describe('a library that the pinned Node needs and this machine lacks', () => {
  const npmError = (library: string) =>
    `npm ERR! node: error while loading shared libraries: ${library}: cannot open shared object file: No such file`

  it('is named with its package', () => {
    assert.match(
      libraryFault(npmError('libatomic.so.1')),
      /libatomic\.so\.1, which .+ `apt install libatomic1`/,
    )
    assert.match(
      libraryFault(npmError('libother.so.2')),
      /libother\.so\.2, which this machine lacks\. Install it\./,
    )
    assert.equal(libraryFault('npm ERR! network'), undefined)
  })
})

describe('the lock files of the tests', () => {
  for (const name of ['generators', 'linters']) {
    it(`have every platform and no registry address: ${name}`, () => {
      const file = join(root, 'test', 'system', 'clients', 'packages', name, 'package-lock.json')
      const text = readFileSync(file, 'utf8')
      assert.deepEqual(completeLock(JSON.parse(text)), [])
      assert.doesNotMatch(text, /"resolved"/)
    })
  }
})

describe('the lock file', () => {
  it('contains every optional package of every platform', () => {
    const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
    assert.deepEqual(completeLock(lock), [])
    assert.deepEqual(separatePrebuilt(lock), [], 'run `npm run lock`')
  })

  it('contains no registry address', () => {
    const lock = readFileSync(join(root, 'package-lock.json'), 'utf8')
    const links = [...lock.matchAll(/"resolved": "(.*)"/g)].map(([, target]) => target)
    assert.deepEqual(links, ['', ...JSON.parse(lock).packages[''].workspaces.sort()])
  })

  it('gets missing packages whose name contains the platform', () => {
    const lock = {
      packages: {
        '': {},
        'node_modules/a': {
          version: '1.0.0',
          optionalDependencies: {
            'a-darwin-arm64': '1.0.0',
            'a-linux-x64': '1.0.0',
            colours: '1.0.0',
            'a-win32-x64': '^1',
          },
        },
        'node_modules/a-linux-x64': { version: '1.0.0' },
      },
    }
    assert.deepEqual(completeLock(lock), ['a-darwin-arm64'])
    assert.deepEqual(Object.keys(lock.packages), [
      '',
      'node_modules/a',
      'node_modules/a-darwin-arm64',
      'node_modules/a-linux-x64',
    ])
    assert.deepEqual(completeLock(lock), [])
  })

  it('derives platforms from names', () => {
    const { os, cpu, libc } = platformEntry('@x/binding-linux-arm64-musl', '2.0.0')
    assert.deepEqual([os, cpu, libc], [['linux'], ['arm64'], ['musl']])
    assert.equal(platformEntry('@x/core', '2.0.0'), undefined)
  })
})

describe('the check of installed packages', () => {
  const packages = (version: string, extra = {}) =>
    JSON.stringify({ packages: { 'node_modules/a': { version }, ...extra } })

  const cases: readonly [string, string | undefined, string, boolean][] = [
    ['nothing', undefined, packages('1.0.0'), false],
    ['the same', packages('1.0.0'), packages('1.0.0'), true],
    ['another version', packages('1.0.0'), packages('1.0.1'), false],
    [
      'a missing package',
      packages('1.0.0'),
      packages('1.0.0', { 'node_modules/b': { version: '1.0.0' } }),
      false,
    ],
    [
      'a missing optional package',
      packages('1.0.0'),
      packages('1.0.0', { 'node_modules/b': { version: '1', optional: true } }),
      true,
    ],
  ]
  for (const [name, there, required, expected] of cases) {
    it(`finds ${name}: ${expected ? 'no install' : 'install'}`, () => {
      const folder = mkdtempSync(join(tmpdir(), 'portico-scripts-'))
      try {
        mkdirSync(join(folder, 'node_modules'))
        writeFileSync(join(folder, 'package-lock.json'), required)
        if (there !== undefined) writeFileSync(join(folder, 'node_modules', '.package-lock.json'), there)
        assert.equal(isInstalled('everything', folder), expected)
      } finally {
        rmSync(folder, { recursive: true })
      }
    })
  }
})

describe('child processes', () => {
  it('return their exit code', async () => {
    assert.equal(await run(process.execPath, ['-e', 'process.exit(7)']), 7)
    assert.deepEqual(await capture(process.execPath, ['-e', 'console.log("x"); process.exit(3)']), {
      code: 3,
      output: 'x\n',
    })
  })

  it('are an error if the program is missing', async () => {
    await assert.rejects(capture('no-such-command-here', []), { code: 'ENOENT' })
  })
})
