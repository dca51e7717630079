/** The Dockerfile without Docker: its steps in their order, each stage in a folder of its own. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { settingsTable } from '../../src/config.ts'
import { newFolder, ordinaryUser } from '../databases/programs.ts'

const root = resolve(import.meta.dirname, '../..')

interface Step {
  readonly word: string
  readonly rest: string
}

/** Comments are dropped and continued lines joined. */
function steps(): readonly Step[] {
  const text = readFileSync(join(root, 'Dockerfile'), 'utf8').replace(/^\s*#.*\n/gm, '')
  return text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
      return { word, rest }
    })
}

const folder = mkdtempSync(join(tmpdir(), 'portico-image-'))
after(() => rmSync(folder, { recursive: true, force: true }))

interface Stage {
  readonly root: string
  workdir: string
  readonly env: Record<string, string>
  user: string
  readonly said: Step[]
}

const stages = new Map<string, Stage>()

/** What may be copied from the context: what `.dockerignore` leaves. */
const context = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))

function copy(stage: Stage, rest: string): void {
  const words = rest.split(/\s+/)
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
  const target = words.pop() ?? ''
  const source = from === undefined ? root : (stages.get(from)?.root ?? '')
  for (const word of words) {
    if (from === undefined) assert.ok(context.includes(word.split('/')[0] ?? ''), `${word} is ignored`)
    const path = join(source, word)
    assert.ok(existsSync(path), `${word} is not there to be copied`)
    const to = join(
      stage.root,
      stage.workdir,
      target,
      target.endsWith('/') ? (word.split('/').at(-1) ?? '') : '',
    )
    mkdirSync(dirname(to), { recursive: true })
    cpSync(path, to, { recursive: statSync(path).isDirectory() })
  }
}

/** With the Node of the tests in the place of the image's. */
function command(
  stage: Stage,
  rest: string,
): { readonly words: readonly string[]; readonly options: object } {
  const { NODE_OPTIONS: _, ...env } = process.env
  const path = `${dirname(process.execPath)}:${env.PATH}`
  const words = rest.startsWith('[') ? (JSON.parse(rest) as string[]) : ['sh', '-c', rest]
  const cwd = join(stage.root, stage.workdir)
  return { words, options: { cwd, env: { ...env, ...stage.env, PATH: path }, stdio: 'pipe' } }
}

/** What `npm ci` would install is installed here already. */
function linkPackages(stage: Stage): void {
  symlinkSync(join(root, 'node_modules'), join(stage.root, stage.workdir, 'node_modules'))
}

function run(stage: Stage, rest: string): void {
  // It makes folders outside of the stage, for a user that only the image has.
  if (rest.startsWith('install -d')) return
  const { words, options } = command(stage, rest)
  const [program = '', ...args] = words
  execFileSync(program, args, options)
}

function build(): Stage {
  let stage: Stage | undefined
  for (const { word, rest } of steps()) {
    if (word === 'FROM') {
      const [, name = 'last'] = / AS (\w+)$/.exec(rest) ?? []
      stage = { root: join(folder, name), workdir: '.', env: {}, user: 'root', said: [] }
      stages.set(name, stage)
      continue
    }
    assert.ok(stage, 'the first step is FROM')
    if (word === 'WORKDIR') {
      stage.workdir = rest
      mkdirSync(join(stage.root, rest), { recursive: true })
    } else if (word === 'COPY') copy(stage, rest)
    else if (word === 'RUN' && rest.startsWith('npm ci') && !rest.includes('--omit=dev')) linkPackages(stage)
    else if (word === 'RUN') run(stage, rest)
    else if (word === 'USER') stage.user = rest
    else if (word === 'ENV') {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value
    } else stage.said.push({ word, rest })
  }
  assert.ok(stage)
  return stage
}

/** Nobody may write to what the image holds: not by rights, as with `read_only: true` not by the file system. */
function setReadOnly(path: string, isReadOnly: boolean): void {
  execFileSync('chmod', ['-R', isReadOnly ? 'a+rX,a-w' : 'u+w', path])
}

describe('the image', () => {
  const stage = build()
  const said = (word: string) => stage.said.findLast(step => step.word === word)?.rest ?? ''

  it('is built from what is there, starts, and its health check tells whether it serves', async () => {
    assert.equal(stage.user, 'node')
    const variables = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable))
    for (const name of Object.keys(stage.env)) assert.ok(name === 'NODE_ENV' || variables.has(name), name)
    const modules = join(stage.root, stage.workdir, 'node_modules')
    assert.ok(existsSync(join(modules, 'pino')))
    assert.ok(!existsSync(join(modules, 'typescript')), 'development dependencies are in the image')
    stage.env.DATABASE_URL = join(folder, 'data.db')
    stage.env.PORT = '0'
    const { words, options } = command(stage, said('CMD'))
    const [program = '', ...args] = words
    const child = spawn(program, args, options)
    try {
      stage.env.PORT = String(await listening(child))
      const [, healthCheck = ''] = /CMD (\[.*\])$/.exec(said('HEALTHCHECK')) ?? []
      run(stage, healthCheck)
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await ended, [0, null])
      assert.throws(() => run(stage, healthCheck), /Command failed/)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('serves as an ordinary user, on a root that cannot be written', async () => {
    const owner = ordinaryUser()
    const data = newFolder('volume', owner)
    const node = join(stage.root, 'node')
    copyFileSync(process.execPath, node)
    chmodSync(folder, 0o755)
    setReadOnly(stage.root, true)
    try {
      stage.env.DATABASE_URL = join(data, 'portico.db')
      stage.env.PORT = '0'
      const { words, options } = command(stage, said('CMD'))
      const nowhere = join(stage.root, 'tmp')
      const env = { PATH: process.env.PATH, ...stage.env, HOME: nowhere, TMPDIR: nowhere }
      const child = spawn(node, words.slice(1), { ...options, ...owner, env })
      try {
        const port = await listening(child)
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/posts`)
        assert.equal(answer.status, 200)
        const page = await fetch(`http://127.0.0.1:${port}/account/sign-in`)
        assert.equal(page.status, 200)
        const ended = once(child, 'exit')
        child.kill('SIGTERM')
        assert.deepEqual(await ended, [0, null])
      } finally {
        child.kill('SIGKILL')
      }
    } finally {
      setReadOnly(stage.root, false)
      rmSync(data, { recursive: true, force: true })
    }
  })
})

function listening(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((found, failed) => {
    let text = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', chunk => {
        text += chunk
        const [, port] = /listening on http:\/\/[^"]*:(\d+)/.exec(text) ?? []
        if (port !== undefined) found(Number(port))
      })
    }
    child.on('exit', code => failed(new Error(`It ended with ${code}:\n${text}`)))
  })
}
