/** Redis servers for tests. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { findProgram } from '../../programs.ts'
import { freePort } from '../../system/processes/port.ts'
import { newFolder } from './programs.ts'

const startTimeoutMs = 60_000

/** A server for one test, which can be killed or paused. It ends with this process at the latest. */
export class RedisServer {
  readonly url: string
  readonly port: number
  readonly #folder = newFolder('redis')
  readonly #program: string
  readonly #onExit = (): void => this.#end()
  #child: ChildProcess | undefined

  private constructor(port: number) {
    this.port = port
    this.url = `redis://127.0.0.1:${port}`
    this.#program = findProgram('redis-server')
    process.once('exit', this.#onExit)
  }

  /** Returns a running server. */
  static async start(): Promise<RedisServer> {
    for (let attempt = 1; ; attempt++) {
      const server = new RedisServer(await freePort())
      try {
        await server.start()
        return server
      } catch (error) {
        await server.remove()
        // Another program may have taken the port in the meantime.
        if (attempt === 3) throw error
      }
    }
  }

  /** Starts the server again, empty and on the same port. */
  async start(): Promise<void> {
    const options = ['--port', `${this.port}`, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
    const child = spawn(this.#program, [...options, '--dir', this.#folder], { stdio: 'ignore' })
    child.unref()
    this.#child = child
    const deadline = Date.now() + startTimeoutMs
    while (!(await this.#answers())) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error('Redis did not start.')
      await wait(10)
    }
  }

  /** Kills the server, which loses its data. */
  async kill(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.ref()
    const exit = once(child, 'exit')
    child.kill('SIGKILL')
    await exit
  }

  /** Until `resume`, the server keeps its connections but does not respond. */
  pause(): void {
    this.#child?.kill('SIGSTOP')
  }

  resume(): void {
    this.#child?.kill('SIGCONT')
  }

  async remove(): Promise<void> {
    process.off('exit', this.#onExit)
    await this.kill()
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #answers(): Promise<boolean> {
    return new Promise(resolve => {
      const socket = connect(this.port, '127.0.0.1', () => socket.write('PING\r\n'))
      socket.setTimeout(1000, () => socket.destroy())
      socket.on('data', data => {
        resolve(data.toString().startsWith('+PONG') && this.#child?.exitCode === null)
        socket.destroy()
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(false))
    })
  }

  #end(): void {
    this.#child?.kill('SIGKILL')
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** Runs `use` with the URL of a new server, which is removed afterwards. */
export async function withRedis<T>(use: (url: string) => T | Promise<T>): Promise<T> {
  const server = await RedisServer.start()
  try {
    return await use(server.url)
  } finally {
    await server.remove()
  }
}
