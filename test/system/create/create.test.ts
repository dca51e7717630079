/** `npm create portico` from the packed packages: every template is installed, checked, tested and served. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { templateNames } from '../../../create/src/templates.ts'
import { settingsTable } from '../../../src/server/config/config.ts'
import { findProgram } from '../../programs.ts'
import { buildImage, commandOf, healthCheckOf, instruction, runIn } from '../deploy/dockerfile.ts'
import { requestsOf, runFailing, shell, startServing } from './project.ts'
import { openRegistry, type Registry, root } from './registry.ts'

let registry: Registry
const pathOf = (...path: string[]) => join(registry.folder, ...path)
const text = (...path: string[]) => readFileSync(pathOf(...path), 'utf8')

/** Created once, with its packages; the others link to them. */
const first = 'my-app'
let created = ''

before(async () => {
  registry = await openRegistry()
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const [, line = assert.fail()] = /`(npm create portico\S* my-app [^`]*)`/.exec(readme) ?? []
  created = await shell(line, { cwd: registry.folder, env: registry.env })
})
after(() => registry?.close())

/** Returns the output. */
function create(args: string): Promise<string> {
  return shell(`npm create portico@latest ${args}`, { cwd: registry.folder, env: registry.env })
}

const files = [
  '.dockerignore',
  '.env.example',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'model.test.ts',
  'model.ts',
  'package.json',
  'tsconfig.json',
]

/** The first responses of each template to the requests in its README. */
const answers: Readonly<Record<string, (answers: readonly unknown[]) => void>> = {
  blog([post, list]) {
    assert.equal((post as { title: string }).title, 'Hello')
    assert.deepEqual((list as { data: unknown[] }).data, [post])
  },
  tracker([organization, list]) {
    assert.equal((organization as { name: string }).name, 'Garden Club')
    assert.deepEqual(
      (list as { data: { id: number }[] }).data.map(({ id }) => id),
      [1],
    )
  },
  empty([list]) {
    assert.equal((list as { meta: { total: number } }).meta.total, 1)
  },
}

describe('npm create portico', () => {
  it('installs the packages, and ends with the next commands', () => {
    assert.match(
      created,
      /^Created my-app from the template blog, with Portico \S+, in a new git repository\.$/m,
    )
    assert.match(created, /\nNext:\n\n {2}cd my-app\n {2}npm run dev\n\n$/)
    assert.ok(existsSync(pathOf(first, 'node_modules', 'portico', 'dist', 'bin.js')))
    const { dependencies } = JSON.parse(text(first, 'package.json'))
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
    assert.deepEqual(dependencies, { portico: `^${version}` })
  })

  it('creates a repository that ignores private and generated files', () => {
    writeFileSync(pathOf(first, '.env'), 'PORT=1\n')
    const output = execFileSync(findProgram('git'), ['status', '--short'], {
      cwd: pathOf(first),
      encoding: 'utf8',
    })
    const untracked = output.split('\n').map(line => line.slice(3))
    assert.deepEqual(untracked.filter(Boolean).sort(), [...files, 'package-lock.json'].sort())
    rmSync(pathOf(first, '.env'))
  })

  for (const template of templateNames) {
    describe(`the template ${template}`, () => {
      const name = template === 'blog' ? first : template

      it('equals the example, with the files that a project needs', async () => {
        if (name !== first) {
          const output = await create(`${name} -- --template ${template} --no-install`)
          assert.match(output, /npm install && npm run dev/)
          symlinkSync(pathOf(first, 'node_modules'), pathOf(name, 'node_modules'))
        }
        const example = (file: string) => readFileSync(join(root, 'examples', template, file), 'utf8')
        assert.equal(text(name, 'model.ts'), example('model.ts'))
        assert.equal(text(name, 'model.test.ts'), example(`${template}.test.ts`))
        const createdFiles = readdirSync(pathOf(name)).filter(
          file => !['node_modules', 'package-lock.json'].includes(file),
        )
        assert.deepEqual(createdFiles.sort(), ['.git', ...files].sort())
        assert.equal(JSON.parse(text(name, 'package.json')).name, name)
        for (const file of ['README.md', 'Dockerfile']) {
          assert.doesNotMatch(text(name, file), /\{\{|undefined/)
          assert.ok(text(name, file).includes(name))
        }
      })

      it('passes its type check and its tests', async () => {
        const options = { cwd: pathOf(name), env: registry.env }
        await shell('npm run check', options)
        assert.match(await shell('npm test', options), /pass [1-9]/)
      })

      it('serves the requests of its README', async () => {
        const service = await startServing('npm start', { cwd: pathOf(name), env: registry.env })
        try {
          answers[template]?.(await requestsOf(text(name, 'README.md'), service, pathOf(name)))
        } finally {
          await service.stop()
        }
      })
    })
  }

  it('has only existing settings in .env.example', () => {
    const variables = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable))
    const documented = [...text(first, '.env.example').matchAll(/^#?([A-Z_]+)=/gm)].map(
      ([, variable = '']) => variable,
    )
    assert.ok(documented.length >= 5)
    assert.deepEqual(
      documented.filter(variable => !variables.has(variable)),
      [],
    )
  })

  it('has a Dockerfile whose image serves the model, with only the necessary packages', async () => {
    const ignored = text(first, '.dockerignore').split('\n')
    const isIgnored = (file: string) => ignored.includes(file)
    const stage = await buildImage({ root: pathOf(first), isIgnored, env: registry.env }, pathOf('image'))
    assert.equal(stage.user, 'node')
    const inImage = join(stage.root, stage.workdir)
    assert.ok(!existsSync(join(inImage, 'node_modules', 'typescript')))
    assert.deepEqual(
      ignored.filter(Boolean).filter(file => file !== 'node_modules' && existsSync(join(inImage, file))),
      [],
    )
    const { program, args, options } = commandOf(stage, instruction(stage, 'CMD'))
    const env = { ...options.env, DATABASE_URL: pathOf('image.db') }
    const service = await startServing([program, ...args].join(' '), { cwd: options.cwd, env })
    try {
      stage.env['PORT'] = new URL(service.url).port
      await runIn(stage, healthCheckOf(stage))
      assert.equal((await fetch(`${service.url}/api/v1/posts`)).status, 200)
    } finally {
      await service.stop()
    }
  })

  it('does not change a folder that is not empty', async () => {
    const output = await runFailing(`npm create portico@latest ${first} -- --yes`, {
      cwd: registry.folder,
      env: registry.env,
    })
    assert.equal(output, `The folder ${first} is not empty: name one that is empty or does not exist.\n`)
  })

  it('creates no repository inside another one', async () => {
    mkdirSync(pathOf('outer'))
    execFileSync(findProgram('git'), ['init', '--quiet'], { cwd: pathOf('outer') })
    const output = await create('outer/inner -- --yes --no-install')
    assert.match(output, /^Created inner from the template blog, with Portico \S+\.$/m)
    assert.ok(!existsSync(pathOf('outer', 'inner', '.git')))
  })

  it('installs a newer Node if the machine’s is too old', async () => {
    mkdirSync(pathOf('old'))
    const line = `[ "$1" = --version ] && echo v22.18.0 || exec "${process.execPath}" "$@"`
    writeFileSync(pathOf('old', 'node'), `#!/bin/sh\n${line}\n`, { mode: 0o755 })
    const env = { ...registry.env, PATH: [pathOf('old'), registry.env.PATH].join(delimiter) }
    const output = await shell('npm create portico@latest brings -- --yes --no-install', {
      cwd: registry.folder,
      env,
    })
    const { optionalDependencies } = JSON.parse(readFileSync(join(root, 'runtime', 'package.json'), 'utf8'))
    assert.deepEqual(JSON.parse(text('brings', 'package.json')).optionalDependencies, optionalDependencies)
    assert.match(
      output,
      /^Portico needs Node \S+ or later, and this is Node 22\.18\.0: the project includes Node \S+\.$/m,
    )
  })

  it('copies a packed Portico into the project', async () => {
    await create(`offline -- --yes --no-install --portico ${registry.portico}`)
    const { dependencies } = JSON.parse(text('offline', 'package.json'))
    const [file = ''] = readdirSync(pathOf('offline')).filter(name => name.endsWith('.tgz'))
    assert.deepEqual(dependencies, { portico: `file:${file}` })
    assert.deepEqual(readFileSync(pathOf('offline', file)), readFileSync(registry.portico))
    assert.match(
      text('offline', 'Dockerfile'),
      new RegExp(`^COPY package.json package-lock.json ${file} ./$`, 'm'),
    )
  })
})
