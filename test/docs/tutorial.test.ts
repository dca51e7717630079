/** The tutorial, step by step in a folder of its own: its files are written and compiled, its commands run. */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { generateKey } from '../../src/auth/key.ts'
import { blocksOf, filledIn } from './blocks.ts'
import { makeProject, projectEnvironment } from './project.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..', '..')

let project = ''
before(() => {
  project = makeProject(root)
})
after(() => rmSync(project, { recursive: true, force: true }))

/** Serves until it is stopped. Returns its address. */
async function started(command: string, env: Record<string, string>) {
  const child = spawn('bash', ['-c', `exec ${command}`], { cwd: project, env })
  const url = await new Promise<string>((resolve, reject) => {
    let said = ''
    child.stdout.on('data', chunk => {
      said += chunk
      const found = /listening on (http:[^"]+)/.exec(said)?.[1]
      if (found !== undefined) resolve(found)
    })
    child.once('close', () => reject(new Error(said)))
  })
  return {
    url,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'close')
    },
  }
}

async function compiles(): Promise<void> {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc')
  await run(process.execPath, [compiler, '-p', project]).catch(({ stdout }) => assert.fail(stdout))
}

test('the tutorial works from its first line to its last', async () => {
  const KEY = generateKey()
  const env = {
    ...projectEnvironment(project),
    PATH: [dirname(process.execPath), projectEnvironment(project).PATH].join(delimiter),
    ...{ KEY, PORTICO_ADMIN_API_KEY: KEY, PORT: '0', HOST: '127.0.0.1' },
    // A clone has no build: the package is read from its sources.
    NODE_OPTIONS: '--conditions=portico-source',
  }
  const blocks = blocksOf(readFileSync(join(root, 'docs', 'tutorial.md'), 'utf8'))
  let service: Awaited<ReturnType<typeof started>> | undefined
  const met = { files: 0, tests: 0, answers: 0 }
  try {
    for (const [at, { language, text }] of blocks.entries()) {
      if (language === 'ts') {
        const name = /^\/\/ (\S+)\n/.exec(text)?.[1] ?? assert.fail(text)
        writeFileSync(join(project, name), text)
        if (name.endsWith('.test.ts')) await compiles()
        met.files++
      }
      if (language !== 'sh' || text.startsWith('npm ')) continue
      if (text.startsWith('portico start')) {
        service = await started(text.trim(), env)
        continue
      }
      const command = text
        .replaceAll('http://localhost:3000', service?.url ?? '')
        .replace(/^curl /, 'curl -s ')
      const { stdout } = await run('bash', ['-e', '-c', command], { cwd: project, env }).catch(failed =>
        assert.fail(`${text}\n${failed.stdout}\n${failed.stderr}`),
      )
      const next = blocks[at + 1]
      if (text.startsWith('node --test')) {
        assert.match(stdout, /pass [1-9]/)
        met.tests++
      } else if (next?.language === 'json') {
        const real: unknown = JSON.parse(stdout)
        assert.deepEqual(real, filledIn(JSON.parse(next.text), real), text)
        met.answers++
      }
    }
  } finally {
    await service?.stop()
  }
  assert.deepEqual(met, { files: 4, tests: 2, answers: 5 })
})
