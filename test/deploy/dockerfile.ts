/** Builds a Dockerfile without Docker: its steps in order, each stage in a folder of its own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface Context {
  /** The folder with the Dockerfile and its context. */
  readonly root: string
  /** Whether `.dockerignore` excludes a file of this name. */
  readonly isIgnored: (name: string) => boolean
  /** The packages that `npm ci` with development dependencies would install. */
  readonly packages?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

interface Step {
  readonly word: string
  readonly rest: string
}

export interface Stage {
  readonly root: string
  readonly context: Context
  workdir: string
  readonly env: Record<string, string>
  user: string
  /** The steps that configure how the image runs. */
  readonly steps: Step[]
}

/** Drops comments and joins continued lines. */
function stepsOf(file: string): readonly Step[] {
  const text = readFileSync(file, 'utf8').replace(/^\s*#.*\n/gm, '')
  return text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, word = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
      return { word, rest }
    })
}

/** Everything in the context except ignored files. */
function copyAll({ root, isIgnored }: Context, to: string): void {
  for (const name of globSync('*', { cwd: root }).concat(globSync('.*', { cwd: root }))) {
    if (!isIgnored(name)) cpSync(join(root, name), join(to, name), { recursive: true })
  }
}

function copyFrom(source: string, word: string, to: string): void {
  const path = join(source, word)
  assert.ok(existsSync(path), `${word} does not exist`)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(path, to, { recursive: statSync(path).isDirectory() })
}

function copy(stage: Stage, rest: string, stages: ReadonlyMap<string, Stage>): void {
  const { context } = stage
  const words = rest.split(/\s+/)
  const from = words[0]?.startsWith('--from=') ? words.shift()?.slice('--from='.length) : undefined
  const target = words.pop() ?? ''
  const folder = join(stage.root, stage.workdir, target)
  if (from === undefined && words[0] === '.') {
    copyAll(context, folder)
    return
  }
  for (const word of words) {
    const isIgnored = from === undefined && context.isIgnored(word.split('/')[0] ?? '')
    assert.ok(!isIgnored, `${word} is ignored`)
    const source = from === undefined ? context.root : (stages.get(from)?.root ?? '')
    copyFrom(source, word, join(folder, target.endsWith('/') ? (word.split('/').at(-1) ?? '') : ''))
  }
}

/** The command of the image, with the Node of the tests in place of the image's. */
export function commandOf(stage: Stage, rest: string) {
  const { NODE_OPTIONS: _, ...env } = stage.context.env ?? process.env
  const path = `${dirname(process.execPath)}:${env.PATH}`
  const [program = '', ...args] = rest.startsWith('[') ? (JSON.parse(rest) as string[]) : ['sh', '-c', rest]
  const cwd = join(stage.root, stage.workdir)
  return {
    program,
    args,
    options: { cwd, env: { ...env, ...stage.env, PATH: path } },
  }
}

export async function runIn(stage: Stage, rest: string): Promise<void> {
  const { program, args, options } = commandOf(stage, rest)
  await run(program, args, options)
}

async function runStep(stage: Stage, rest: string): Promise<void> {
  // It creates folders outside of the stage, for a user that only the image has.
  if (rest.startsWith('install -d')) return
  const isWithPackages = rest.startsWith('npm ci') && !rest.includes('--omit=dev')
  if (isWithPackages)
    symlinkSync(stage.context.packages ?? '', join(stage.root, stage.workdir, 'node_modules'))
  else await runIn(stage, rest)
}

/** Runs the steps up to the last stage, and returns it. */
export async function buildImage(context: Context, folder: string): Promise<Stage> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const { word, rest } of stepsOf(join(context.root, 'Dockerfile'))) {
    if (word === 'FROM') {
      const [, name = 'last'] = / AS (\w+)$/.exec(rest) ?? []
      stage = { root: join(folder, name), context, workdir: '.', env: {}, user: 'root', steps: [] }
      stages.set(name, stage)
      continue
    }
    assert.ok(stage, 'the first step is FROM')
    if (word === 'WORKDIR') {
      stage.workdir = rest
      mkdirSync(join(stage.root, rest), { recursive: true })
    } else if (word === 'COPY') copy(stage, rest, stages)
    else if (word === 'RUN') await runStep(stage, rest)
    else if (word === 'USER') stage.user = rest
    else if (word === 'ENV') {
      for (const [, name = '', value = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value
    } else stage.steps.push({ word, rest })
  }
  assert.ok(stage)
  return stage
}

/** The last step of a kind that configures how the image runs. */
export function instruction(stage: Stage, word: string): string {
  return stage.steps.findLast(step => step.word === word)?.rest ?? ''
}

/** The command of its health check. */
export function healthCheckOf(stage: Stage): string {
  const [, command = ''] = /CMD (\[.*\])$/.exec(instruction(stage, 'HEALTHCHECK')) ?? []
  return command
}
