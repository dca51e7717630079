/** Builds a Dockerfile without Docker: its instructions in order, each stage in a folder of its own. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface BuildContext {
  /** The folder with the Dockerfile and its context. */
  readonly root: string
  /** Whether `.dockerignore` excludes a file of this name. */
  readonly isIgnored: (name: string) => boolean
  /** The packages that `npm ci` with development dependencies would install. */
  readonly packages?: string
  readonly env?: Readonly<Record<string, string | undefined>>
}

interface Instruction {
  readonly keyword: string
  readonly argument: string
}

export interface Stage {
  readonly root: string
  readonly context: BuildContext
  workdir: string
  readonly env: Record<string, string>
  user: string
  /** The instructions that configure how the image runs. */
  readonly instructions: Instruction[]
}

/** Drops comments and joins continued lines. */
function instructionsOf(file: string): readonly Instruction[] {
  const text = readFileSync(file, 'utf8').replace(/^\s*#.*\n/gm, '')
  return text
    .replace(/\\\n\s*/g, '')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      const [, keyword = '', argument = ''] = /^(\w+)\s+(.*)$/.exec(line) ?? []
      return { keyword, argument }
    })
}

/** Everything in the context except ignored files. */
function copyAll({ root, isIgnored }: BuildContext, to: string): void {
  for (const name of globSync('*', { cwd: root }).concat(globSync('.*', { cwd: root }))) {
    if (!isIgnored(name)) cpSync(join(root, name), join(to, name), { recursive: true })
  }
}

function copyFrom(source: string, name: string, to: string): void {
  const path = join(source, name)
  assert.ok(existsSync(path), `${name} does not exist`)
  mkdirSync(dirname(to), { recursive: true })
  cpSync(path, to, { recursive: statSync(path).isDirectory() })
}

function copy(stage: Stage, argument: string, stages: ReadonlyMap<string, Stage>): void {
  const { context } = stage
  const paths = argument.split(/\s+/)
  const from = paths[0]?.startsWith('--from=') ? paths.shift()?.slice('--from='.length) : undefined
  const target = paths.pop() ?? ''
  const folder = join(stage.root, stage.workdir, target)
  if (from === undefined && paths[0] === '.') {
    copyAll(context, folder)
    return
  }
  for (const name of paths) {
    const isIgnored = from === undefined && context.isIgnored(name.split('/')[0] ?? '')
    assert.ok(!isIgnored, `${name} is ignored`)
    const source = from === undefined ? context.root : (stages.get(from)?.root ?? '')
    copyFrom(source, name, join(folder, target.endsWith('/') ? (name.split('/').at(-1) ?? '') : ''))
  }
}

/** The command of the image, with the Node of the tests in place of the image's. */
export function commandOf(stage: Stage, argument: string) {
  const { NODE_OPTIONS: _, ...env } = stage.context.env ?? process.env
  const path = `${dirname(process.execPath)}:${env.PATH}`
  const [program = '', ...args] = argument.startsWith('[')
    ? (JSON.parse(argument) as string[])
    : ['sh', '-c', argument]
  const cwd = join(stage.root, stage.workdir)
  return {
    program,
    args,
    options: { cwd, env: { ...env, ...stage.env, PATH: path } },
  }
}

export async function runIn(stage: Stage, argument: string): Promise<void> {
  const { program, args, options } = commandOf(stage, argument)
  await run(program, args, options)
}

async function runInstruction(stage: Stage, argument: string): Promise<void> {
  // It creates folders outside of the stage, for a user that only the image has.
  if (argument.startsWith('install -d')) return
  const isWithPackages = argument.startsWith('npm ci') && !argument.includes('--omit=dev')
  if (isWithPackages)
    symlinkSync(stage.context.packages ?? '', join(stage.root, stage.workdir, 'node_modules'))
  else await runIn(stage, argument)
}

/** Runs the instructions up to the last stage, and returns it. */
export async function buildImage(context: BuildContext, folder: string): Promise<Stage> {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  for (const { keyword, argument } of instructionsOf(join(context.root, 'Dockerfile'))) {
    if (keyword === 'FROM') {
      const [, name = 'last'] = / AS (\w+)$/.exec(argument) ?? []
      stage = { root: join(folder, name), context, workdir: '.', env: {}, user: 'root', instructions: [] }
      stages.set(name, stage)
      continue
    }
    assert.ok(stage, 'the first instruction is FROM')
    if (keyword === 'WORKDIR') {
      stage.workdir = argument
      mkdirSync(join(stage.root, argument), { recursive: true })
    } else if (keyword === 'COPY') copy(stage, argument, stages)
    else if (keyword === 'RUN') await runInstruction(stage, argument)
    else if (keyword === 'USER') stage.user = argument
    else if (keyword === 'ENV') {
      for (const [, name = '', value = ''] of argument.matchAll(/(\w+)=(\S+)/g)) stage.env[name] = value
    } else stage.instructions.push({ keyword, argument })
  }
  assert.ok(stage)
  return stage
}

/** The last instruction with a keyword that configures how the image runs. */
export function instruction(stage: Stage, keyword: string): string {
  return stage.instructions.findLast(step => step.keyword === keyword)?.argument ?? ''
}

/** The command of its health check. */
export function healthCheckOf(stage: Stage): string {
  const [, command = ''] = /CMD (\[.*\])$/.exec(instruction(stage, 'HEALTHCHECK')) ?? []
  return command
}
