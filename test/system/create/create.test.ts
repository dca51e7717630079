/** `npm create portico` from the packed packages: every template is installed, checked, tested and served. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { parse } from 'yaml'
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
  '.github/workflows/test.yml',
  '.gitignore',
  'Dockerfile',
  'README.md',
  'compose.yaml',
  'model.test.ts',
  'model.ts',
  'package.json',
  'portico.config.json',
  'seed.ts',
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
    const output = execFileSync(findProgram('git'), ['status', '--short', '--untracked-files=all'], {
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
        assert.equal(text(name, 'seed.ts'), example('seed.ts'))
        const createdFiles = readdirSync(pathOf(name)).filter(
          file => !['node_modules', 'package-lock.json'].includes(file),
        )
        const entries = new Set(files.map(file => file.split('/')[0]))
        assert.deepEqual(createdFiles.sort(), ['.git', ...entries].sort())
        assert.equal(JSON.parse(text(name, 'package.json')).name, name)
        for (const file of ['README.md', 'Dockerfile', 'compose.yaml']) {
          assert.doesNotMatch(text(name, file), /\{\{|undefined/)
          assert.ok(text(name, file).includes(name))
        }
      })

      it('passes its type check and its tests', async () => {
        const options = { cwd: pathOf(name), env: registry.env }
        await shell('npm run check', options)
        assert.match(await shell('npm test', options), /pass [1-9]/)
      })

      it('adds its sample data once', async () => {
        const env = { ...registry.env, DATABASE_URL: pathOf(name, 'data', 'seeded.db') }
        const options = { cwd: pathOf(name), env }
        assert.match(
          await shell('npm run seed', options),
          /The first administrator: [\s\S]*Added [1-9]\d* \w+\.\n/,
        )
        const again = await shell('npm run seed', options)
        assert.match(again, /Added 0 \w+\.\n/)
        assert.doesNotMatch(again, /administrator/)
      })

      it('serves the requests of its README', async () => {
        const service = await startServing('npm start', { cwd: pathOf(name), env: registry.env })
        try {
          answers[template]?.(await requestsOf(text(name, 'README.md'), service, pathOf(name)))
          const page = await fetch(`${service.url}/account/sign-in`)
          assert.match(await page.text(), name === first ? /My app/ : new RegExp(name, 'i'))
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

  it('has a compose.yaml with settings that exist, and secrets in files that git and the image leave out', () => {
    const { services, secrets, volumes } = parse(text(first, 'compose.yaml'), { merge: true })
    const variables = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable))
    const ports: readonly string[] = services.portico.ports
    assert.deepEqual(ports, [`127.0.0.1:${settingsTable.port.default}:${settingsTable.port.default}`])
    for (const service of ['portico', 'migrate']) {
      const { environment, image, build } = services[service]
      assert.deepEqual({ image, build }, { image: first, build: '.' })
      for (const name of Object.keys(environment)) assert.ok(variables.has(name.replace(/_FILE$/, '')), name)
      assert.equal(environment.DATABASE_URL, '')
    }
    const used = new Set<string>()
    for (const { environment = {}, secrets: own = [] } of Object.values<Record<string, never>>(services)) {
      for (const [name, value] of Object.entries<string>(environment)) {
        if (name.endsWith('_FILE'))
          assert.ok(
            own.some(secret => value === `/run/secrets/${secret}`),
            name,
          )
      }
      for (const secret of own) used.add(secret)
    }
    assert.deepEqual(
      secrets,
      Object.fromEntries([...used].map(name => [name, { file: `./secrets/${name}` }])),
    )
    assert.deepEqual(volumes, { postgres: null, files: null })
    assert.ok(text(first, '.gitignore').split('\n').includes('secrets/'))
    assert.ok(text(first, '.dockerignore').split('\n').includes('secrets'))
    // Its comment says how each secret is made.
    for (const name of used) assert.match(text(first, 'compose.yaml'), new RegExp(`> secrets/${name}\\b`))
    assert.deepEqual(services.migrate.command.slice(-2), ['migrate', '--apply'])
  })

  it('has a workflow that runs commands of the project', () => {
    const { jobs } = parse(text(first, '.github/workflows/test.yml'))
    const runs: readonly string[] = jobs.test.steps.flatMap(({ run }: { run?: string }) => run ?? [])
    const { scripts } = JSON.parse(text(first, 'package.json'))
    const names = runs.flatMap(line => /^npm (?:run )?(check|test)$/.exec(line)?.[1] ?? [])
    assert.deepEqual(names, ['check', 'test'])
    for (const name of names) assert.ok(scripts[name], name)
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
