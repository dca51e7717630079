/** A raw TCP client, for requests that no HTTP client sends. */
import { connect, type Socket } from 'node:net'

export interface RawResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** All bytes up to the end of the connection. */
export function readToEnd(socket: Socket): Promise<string> {
  return new Promise(resolve => {
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', chunk => {
      text += chunk
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(text))
  })
}

export function openConnection(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Sends `bytes` and reads until the server closes the connection. */
export async function sendRaw(port: number, bytes: string | Buffer): Promise<string> {
  const socket = await openConnection(port)
  const output = readToEnd(socket)
  socket.write(bytes)
  return output
}

/** Parses the responses of a connection, with bodies by Content-Length. */
export function parseResponses(output: string): RawResponse[] {
  const answers: RawResponse[] = []
  let rest = output
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) throw new Error(`no end of headers in ${JSON.stringify(rest)}`)
    const [line = '', ...fields] = rest.slice(0, end).split('\r\n')
    const headers = Object.fromEntries(
      fields.map(field => [
        field.slice(0, field.indexOf(':')).toLowerCase(),
        field.slice(field.indexOf(':') + 1).trim(),
      ]),
    )
    const length = Number(headers['content-length'] ?? 0)
    answers.push({
      status: Number(line.split(' ')[1]),
      headers,
      body: rest.slice(end + 4, end + 4 + length),
    })
    rest = rest.slice(end + 4 + length)
  }
  return answers
}
