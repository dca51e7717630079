/**
 * openapi-generator, unmodified and without options: clients of the blog and the tracker in five languages compile, write
 * and read. By default one of them; `PORTICO_MATRIX=whole` tests all, which compiles for minutes.
 */
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { isWhole } from '../../cases.ts'
import blog from '../../models/blog.ts'
import tracker from '../../models/tracker.ts'
import type { Client } from './client.ts'
import { cache } from './installed.ts'
import { machinePrograms, openapiGenerator } from './java.ts'
import { goEnvironment, goFor, pythonWith } from './python.ts'
import { withClient } from './services.ts'

const folder = join(import.meta.dirname, 'openapi-generator')
const programs = machinePrograms()

/** The expected output of each client, by the model of the service. */
const expectedOutput = {
  blog: {
    created: ['One', null],
    updated: 'changed',
    read: ['One', true],
    listed: [['One'], 1],
    missing: 404,
  },
  tracker: {
    created: ['Weave', 'doing', 1],
    updated: ['done', null],
    listed: ['Weave'],
    trashed: true,
  },
}

type Name = keyof typeof expectedOutput

/** A command: the program, its arguments, and its environment besides that of the service. */
interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
}

interface Target {
  /** What the machine must have besides Java and Maven. */
  readonly lacks: string | undefined
  /** The commands that compile the generated code in the folder `client`, and the last one, which runs the program. */
  commands(client: Client, name: Name): Promise<readonly [...Command[], Command]>
}

/** Where tools keep what they fetch. */
const cached = { HOME: homedir() }

const targets: Readonly<Record<string, Target>> = {
  'typescript-fetch': {
    lacks: undefined,
    async commands(client, name) {
      renameSync(join(client.folder, 'client'), join(client.folder, 'src', 'client'))
      const other = name === 'blog' ? 'tracker' : 'blog'
      rmSync(join(client.folder, 'src', `${other}.ts`))
      return [
        { program: process.execPath, args: [join('node_modules', '.bin', 'tsc'), '-p', '.'] },
        { program: process.execPath, args: [join('out', `${name}.js`)] },
      ]
    },
  },
  python: {
    lacks: undefined,
    async commands(_client, name) {
      const program = await pythonWith(folder)
      const environment = { PYTHONPATH: 'client' }
      return [
        { program, args: ['-m', 'compileall', '-q', 'client'] },
        { program, args: [join('python', `${name}.py`)], environment },
      ]
    },
  },
  go: {
    lacks: undefined,
    async commands({ folder: project }, name) {
      const program = await goFor(join(folder, '..', 'oapi-codegen'))
      mkdirSync(join(project, 'client', 'program'))
      cpSync(join(project, 'go', `${name}.go`), join(project, 'client', 'program', 'main.go'))
      const environment = goEnvironment()
      const build = ['build', '-C', 'client', '-gcflags=-l', '-o', join('..', 'program'), './program']
      return [
        { program, args: ['-C', 'client', 'mod', 'tidy'], environment },
        { program, args: build, environment },
        { program: join(project, 'program'), args: [] },
      ]
    },
  },
  rust: {
    lacks: programs.cargo === undefined ? 'cargo' : undefined,
    async commands({ folder: project }, name) {
      const rust = join(project, 'rust')
      renameSync(join(project, 'client'), join(rust, 'client'))
      cpSync(join(rust, `${name}.rs`), join(rust, 'program.rs'))
      // Dependencies are compiled once, and kept for the next run.
      const target = join(cache, 'rust-target')
      const args = ['build', '--quiet', '--manifest-path', join('rust', 'Cargo.toml'), '--target-dir', target]
      return [
        { program: programs.cargo ?? '', args, environment: cached },
        { program: join(target, 'debug', 'program'), args: [] },
      ]
    },
  },
  java: {
    lacks: programs.javac === undefined ? 'a JDK' : undefined,
    async commands({ folder: project }, name) {
      const program = name === 'blog' ? 'Blog' : 'Tracker'
      const sources = join(project, 'client', 'src', 'main', 'java')
      cpSync(join(project, 'java', `${program}.java`), join(sources, `${program}.java`))
      const goals = ['compile', 'dependency:copy-dependencies', '-DoutputDirectory=libraries']
      const classes = [join('client', 'target', 'classes'), join('client', 'libraries', '*')]
      return [
        {
          program: programs.maven ?? '',
          args: ['--quiet', '--batch-mode', '--file', join('client', 'pom.xml'), ...goals],
          environment: cached,
        },
        { program: programs.java ?? '', args: ['-cp', classes.join(':'), program] },
      ]
    },
  },
}

/** The targets and models of this run. */
const chosen: readonly (readonly [target: string, models: readonly Name[]])[] = isWhole
  ? Object.keys(targets).map(name => [name, ['blog', 'tracker']])
  : [['typescript-fetch', ['tracker']]]

async function checkClient(target: string, name: Name, jar: string): Promise<void> {
  const models = { blog, tracker }
  await withClient({ [name]: models[name] }, { project: 'openapi-generator' }, async (client, services) => {
    const { url, environment: ofService } = services[name] ?? assert.fail()
    const generate = ['-jar', jar, 'generate', '-i', url, '-g', target, '-o', 'client']
    const generated = await client.program(programs.java ?? '', generate)
    assert.equal(generated.code, 0, generated.err + generated.out)
    let output = ''
    for (const { program, args, environment } of await (targets[target] ?? assert.fail()).commands(
      client,
      name,
    )) {
      const result = await client.program(program, args, { ...environment, ...ofService })
      assert.equal(result.code, 0, `${program} ${args.join(' ')}\n${result.err}${result.out}`)
      output = result.out
    }
    assert.deepEqual(JSON.parse(output), expectedOutput[name])
  })
}

for (const [target, models] of chosen) {
  const { java, maven } = programs
  const lacks = java === undefined || maven === undefined ? 'Java and Maven' : targets[target]?.lacks
  const skip = lacks !== undefined && `It needs ${lacks}, which this machine does not have.`
  for (const name of models) {
    test(`a client of the ${name} generated by openapi-generator for ${target} works`, { skip }, async () => {
      await checkClient(target, name, await openapiGenerator(folder, maven ?? ''))
    })
  }
}
