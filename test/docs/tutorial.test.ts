/**
 * The whole tutorial, in a project that `npm create portico` has created from the packed packages: its files are
 * written, its snippets inserted, its commands run, and its output compared.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it, test } from 'node:test'
import { promisify } from 'node:util'
import { generateKey } from '../../src/identity/keys/key.ts'
import { findProgram } from '../programs.ts'
import { withPostgres } from '../setups/databases/postgres.ts'
import { openRegistry } from '../system/create/registry.ts'
import { type Block, blocksOf, fillIn } from './blocks.ts'
import { applySnippet } from './edits.ts'
import { pages, read, root } from './pages.ts'

const run = promisify(execFile)
const parts = pages.filter(page => /^docs\/tutorial-\d/.test(page))
/** Placeholders in the pages. */
const address = 'http://localhost:3000'
const database = 'postgres://user:password@host:5432/portico'

/** The longest wait for a line of output, on a busy machine. */
const patienceMs = 120_000

type Environment = Readonly<Record<string, string>>

/** A command that serves until it is stopped. */
class Service {
  readonly #child
  readonly #closed
  #output = ''
  /** Called with each part of its output, and when it exits. */
  #changed = Promise.withResolvers<void>()

  constructor(line: string, cwd: string, env: Environment) {
    // In a process group of its own: npm is between the test and the service.
    this.#child = spawn('bash', ['-c', `exec ${line}`], { cwd, env, detached: true })
    this.#closed = once(this.#child, 'close').then(() => this.#tell())
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream.setEncoding('utf8').on('data', chunk => {
        this.#output += chunk
        this.#tell()
      })
  }

  #tell(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers()
  }

  get #hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Waits until the output has matched this many times. Returns the last match. */
  async waitFor(pattern: RegExp, times = 1): Promise<string> {
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      this.#tell()
    }, patienceMs)
    try {
      for (;;) {
        const match = [...this.#output.matchAll(pattern)][times - 1]
        if (match) return match[1] ?? ''
        if (this.#hasEnded || isLate)
          assert.fail(`never: ${pattern} for the ${times}. time in\n${this.#output}`)
        await this.#changed.promise
      }
    } finally {
      clearTimeout(timer)
    }
  }

  get output(): string {
    return this.#output
  }

  count(pattern: RegExp): number {
    return [...this.#output.matchAll(pattern)].length
  }

  async stop(): Promise<void> {
    if (this.#child.pid === undefined || this.#hasEnded) return
    process.kill(-this.#child.pid, 'SIGTERM')
    await this.#closed
  }
}

const reloaded = /Reloaded in \d+ ms: .*model\.ts/g
const listening = /http:\/\/(?:localhost|127\.0\.0\.1):(\d+)/g

/** The reader's tools: an editor and two terminals. */
class Reader {
  readonly met = { files: 0, edits: 0, tests: 0, answers: 0 }
  readonly #env: Environment
  readonly #postgres: string
  readonly #files = new Map<string, string>()
  #folder: string
  #service: Service | undefined
  #isDevelopment = false
  #url = address

  constructor(folder: string, env: Environment, postgres: string) {
    const KEY = generateKey()
    this.#folder = folder
    this.#postgres = postgres
    this.#env = { ...env, KEY, PORTICO_ADMIN_API_KEY: KEY, PORT: '0', HOST: '127.0.0.1' }
  }

  async follow(blocks: readonly Block[]): Promise<void> {
    for (const [index, { language, text }] of blocks.entries()) {
      if (language === 'ts') this.#edit(text)
      if (language === 'sh') await this.#type(text.trim(), blocks[index + 1])
    }
  }

  async close(): Promise<void> {
    await this.#service?.stop()
  }

  /** Saves before the next command: one save causes one reload. */
  #edit(text: string): void {
    const [head = '', name = '', where] = /^\/\/ ([\w.]+)(?:, (.+))?\n/.exec(text) ?? assert.fail(text)
    if (where === undefined) this.met.files++
    else this.met.edits++
    const before = () => this.#files.get(name) ?? readFileSync(join(this.#folder, name), 'utf8')
    this.#files.set(name, where === undefined ? text : applySnippet(before(), where, text.slice(head.length)))
  }

  async #save(): Promise<void> {
    const times = (this.#service?.count(reloaded) ?? 0) + 1
    const isReloaded = this.#isDevelopment && this.#files.has('model.ts')
    for (const [name, text] of this.#files)
      writeFileSync(join(this.#folder, name), text.replaceAll(address, this.#url))
    this.#files.clear()
    if (isReloaded) await this.#service?.waitFor(reloaded, times)
  }

  async #type(command: string, next: Block | undefined): Promise<void> {
    await this.#save()
    const [, folder, rest] = /^(?:cd (\S+)\n)?([\s\S]*)$/.exec(command) ?? []
    if (folder) this.#folder = join(this.#folder, folder)
    if (/npm (run dev|start)$/.test(command)) return this.#serve(rest ?? '')
    // As the page explains: `portico dev` would follow .env to the other database.
    if (command.includes('.env')) await this.#service?.stop()
    const line = command
      .replaceAll(address, this.#url)
      .replaceAll(database, this.#postgres)
      .replace(/^curl /, `${findProgram('curl')} -sg --max-time 120 `)
    const env = { ...this.#env, NODE_NO_WARNINGS: '1' }
    const shell = { cwd: this.#folder, env, timeout: 3 * patienceMs }
    const { stdout } = await run('bash', ['-e', '-c', line], shell).catch(failed =>
      assert.fail(`${command}\n${failed}\n${failed.stdout}\n${failed.stderr}\n${this.#service?.output}`),
    )
    this.#compare(command, stdout, next)
  }

  async #serve(command: string): Promise<void> {
    await this.#service?.stop()
    this.#isDevelopment = command === 'npm run dev'
    const line = command.replace(/^(\w+=\w+) /, 'env $1 ')
    this.#service = new Service(line, this.#folder, this.#env)
    this.#url = `http://127.0.0.1:${await this.#service.waitFor(listening)}`
  }

  #compare(command: string, output: string, next: Block | undefined): void {
    if (command.includes('npm test')) {
      assert.match(output, /pass [1-9]\d*\n.*fail 0\n/)
      this.met.tests++
    } else if (next?.language === 'json') {
      const real: unknown = JSON.parse(output)
      assert.deepEqual(real, fillIn(JSON.parse(next.text), real), command)
      this.met.answers++
    } else if (command.startsWith('node ') && next?.language === 'text') {
      assert.equal(output, next.text)
      this.met.answers++
    } else if (command.startsWith('curl ')) assert.ok(!output.includes('"error"'), `${command}\n${output}`)
  }
}

test('the tutorial works from beginning to end', async () => {
  const registry = await openRegistry()
  try {
    await withPostgres(async postgres => {
      const reader = new Reader(registry.folder, registry.env, postgres)
      try {
        for (const part of parts) await reader.follow(blocksOf(read(part)))
      } finally {
        await reader.close()
      }
      assert.deepEqual(reader.met, { files: 8, edits: 17, tests: 5, answers: 15 })
    })
  } finally {
    registry.close()
  }
})

test('the systemd unit in the tutorial equals the tested one', () => {
  const unit = readFileSync(join(root, 'deploy', 'portico.service'), 'utf8').split('\n')
  const documented = blocksOf(read('docs/tutorial-7-deploy.md')).find(({ text }) => text.startsWith('[Unit]'))
  const lines = documented?.text.replaceAll('/opt/tracker', '/opt/blog').split('\n') ?? []
  assert.ok(lines.length > 20)
  assert.deepEqual(
    lines.filter(line => !unit.includes(line)),
    [],
  )
})

describe('a snippet for a file', () => {
  const file =
    'export default model(\n  {\n    a: collection({\n      fields: {\n      },\n    }),\n  },\n)\n'

  it('is inserted in its place', () => {
    assert.match(applySnippet(file, 'in a.fields', 'b: text(),\n'), /fields: {\n {8}b: text\(\),\n {6}}/)
    assert.match(applySnippet(file, 'after a', 'c: 1,\n'), / {4}}\),\n {4}c: 1,\n {2}},/)
    assert.match(applySnippet(file, 'in place of a.fields', 'fields,\n'), /\({\n {6}fields,\n {4}}/)
    assert.match(applySnippet(file, 'in the collections', 'd: 1,\n'), / {4}}\),\n {4}d: 1,\n {2}},/)
  })

  it('must name an existing place', () => {
    assert.throws(() => applySnippet(file, 'in b.fields', ''), /no b.fields/)
  })
})
