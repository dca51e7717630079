/** A proxy in a process of its own, before a service, that injects faults. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type Process, startProcess } from '../system/processes/portico.ts'

/** Faults that a scenario sets by `POST /faults/{name}`, from any origin. */
type Fault = (res: ServerResponse) => void | Promise<void>

export interface FaultyProxy {
  readonly port: number
  close(): Promise<void>
}

export interface ProxiedService {
  readonly folder: string
  readonly environment: Readonly<Record<string, string>>
  /** Responses of the proxy itself: media type and text, by path. */
  readonly files: ReadonlyMap<string, readonly [type: string, text: string]>
}

class FaultInjector {
  readonly #proxied: ProxiedService
  readonly #streams = new Set<ServerResponse>()
  #service: Process
  #port: number
  /** The next write is carried out and its response lost. */
  #dropsNext = false
  /** The response sent in place of the service's: none, or HTML. */
  #replacement: 'silence' | 'html' | undefined

  constructor(proxied: ProxiedService, service: Process) {
    this.#proxied = proxied
    this.#service = service
    this.#port = service.port
  }

  readonly #faults: Readonly<Record<string, Fault>> = {
    drop: () => {
      this.#dropsNext = true
    },
    silence: () => {
      this.#replacement = 'silence'
    },
    html: () => {
      this.#replacement = 'html'
    },
    cut: () => {
      for (const stream of this.#streams) stream.destroy()
    },
    kill: async () => {
      await this.#service.end('SIGKILL')
      // Requests fail meanwhile.
      void this.#restart()
    },
    pending: res => void res.write(this.#replacement ?? ''),
    streams: res => void res.write(String(this.#streams.size)),
  }

  async #restart(): Promise<void> {
    const { folder, environment } = this.#proxied
    this.#service = await startProcess({ folder, environment: { ...environment, PORT: String(this.#port) } })
  }

  end(): Promise<unknown> {
    return this.#service.end()
  }

  async respond(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const path = req.url ?? '/'
    const file = this.#proxied.files.get(path)
    const fault = this.#faults[path.replace('/faults/', '')]
    if (file) return void res.setHeader('content-type', file[0]).end(file[1])
    if (fault) {
      res.setHeader('access-control-allow-origin', '*')
      await fault(res)
      return void res.end()
    }
    // Responds to the preflight request of a browser.
    const replacement = req.method === 'OPTIONS' ? undefined : this.#replacement
    if (replacement) this.#replacement = undefined
    if (replacement === 'silence') return
    if (replacement === 'html') {
      const headers = { 'content-type': 'text/html', 'access-control-allow-origin': '*' }
      return void res.writeHead(502, headers).end('<h1>Bad Gateway</h1>')
    }
    this.#forward(req, res)
  }

  #forward(req: IncomingMessage, res: ServerResponse): void {
    const drops = this.#dropsNext && req.method !== 'GET' && req.method !== 'OPTIONS'
    if (drops) this.#dropsNext = false
    const { method, url: path, headers } = req
    const outgoing = request({ host: '127.0.0.1', port: this.#port, method, path, headers }, answer => {
      if (drops) return void answer.resume().once('end', () => res.destroy())
      this.#forwardResponse(answer, res)
    })
    outgoing.once('error', () => res.destroy())
    req.pipe(outgoing)
  }

  #forwardResponse(answer: IncomingMessage, res: ServerResponse): void {
    if (answer.headers['content-type']?.startsWith('text/event-stream')) this.#streams.add(res)
    res.once('close', () => {
      this.#streams.delete(res)
      answer.destroy()
    })
    answer.once('error', () => res.destroy())
    res.writeHead(answer.statusCode ?? 502, answer.headers).flushHeaders()
    answer.pipe(res)
  }
}

export async function openFaultyProxy(proxied: ProxiedService): Promise<FaultyProxy> {
  const proxy = new FaultInjector(proxied, await startProcess(proxied))
  const server = createServer((req, res) => void proxy.respond(req, res))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      server.closeAllConnections()
      server.close()
      await proxy.end()
    },
  }
}
