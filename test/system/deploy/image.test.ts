/** The Dockerfile without Docker: its image is built, starts, and serves as an unprivileged user. */
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, describe, it } from 'node:test'
import { settingsTable } from '../../../src/server/config/config.ts'
import { newFolder, ordinaryUser } from '../../setups/databases/programs.ts'
import { untilListening } from '../processes/listening.ts'
import { buildImage, commandOf, healthCheckOf, instruction, runIn } from './dockerfile.ts'

const root = resolve(import.meta.dirname, '../../..')

const folder = mkdtempSync(join(tmpdir(), 'portico-image-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The context that may be copied, without the files in `.dockerignore`. */
const copied = readFileSync(join(root, '.dockerignore'), 'utf8')
  .split('\n')
  .flatMap(line => (line.startsWith('!') ? [line.slice(1)] : []))

/** Makes the image read-only: its permissions, as with `read_only: true` its file system. */
function setReadOnly(path: string, isReadOnly: boolean): void {
  execFileSync('chmod', ['-R', isReadOnly ? 'a+rX,a-w' : 'u+w', path])
}

describe('the image', async () => {
  const isIgnored = (name: string) => !copied.includes(name)
  const stage = await buildImage({ root, isIgnored, packages: join(root, 'node_modules') }, folder)

  it('is built from the repository, starts, and its health check reports whether it serves', async () => {
    assert.equal(stage.user, 'node')
    const variables = new Set<string>(Object.values(settingsTable).map(({ variable }) => variable))
    for (const name of Object.keys(stage.env)) assert.ok(name === 'NODE_ENV' || variables.has(name), name)
    const modules = join(stage.root, stage.workdir, 'node_modules')
    assert.ok(existsSync(join(modules, 'pino')))
    assert.ok(!existsSync(join(modules, 'typescript')), 'development dependencies are in the image')
    stage.env.DATABASE_URL = join(folder, 'data.db')
    stage.env.PORT = '0'
    const { program, args, options } = commandOf(stage, instruction(stage, 'CMD'))
    const child = spawn(program, args, options)
    try {
      stage.env.PORT = new URL((await untilListening(child)).url).port
      const healthCheck = healthCheckOf(stage)
      await runIn(stage, healthCheck)
      const exit = once(child, 'exit')
      child.kill('SIGTERM')
      assert.deepEqual(await exit, [0, null])
      await assert.rejects(runIn(stage, healthCheck), /Command failed/)
    } finally {
      child.kill('SIGKILL')
    }
  })

  it('serves as an unprivileged user on a read-only root', async () => {
    const owner = ordinaryUser()
    const data = newFolder('volume', owner)
    const node = join(stage.root, 'node')
    copyFileSync(process.execPath, node)
    chmodSync(folder, 0o755)
    setReadOnly(stage.root, true)
    try {
      stage.env.DATABASE_URL = join(data, 'portico.db')
      stage.env.PORT = '0'
      const { args, options } = commandOf(stage, instruction(stage, 'CMD'))
      const nowhere = join(stage.root, 'tmp')
      const env = { PATH: process.env.PATH, ...stage.env, HOME: nowhere, TMPDIR: nowhere }
      const child = spawn(node, args, { ...options, ...owner, env })
      try {
        const { port } = new URL((await untilListening(child)).url)
        const answer = await fetch(`http://127.0.0.1:${port}/api/v1/posts`)
        assert.equal(answer.status, 200)
        const page = await fetch(`http://127.0.0.1:${port}/account/sign-in`)
        assert.equal(page.status, 200)
        const exit = once(child, 'exit')
        child.kill('SIGTERM')
        assert.deepEqual(await exit, [0, null])
      } finally {
        child.kill('SIGKILL')
      }
    } finally {
      setReadOnly(stage.root, false)
      rmSync(data, { recursive: true, force: true })
    }
  })
})
