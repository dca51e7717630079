/** A mail server that accepts every message. */
import { type AddressInfo, createServer, type Server } from 'node:net'

export interface Received {
  readonly commands: string[]
  data: string
}

/** As much of RFC 5321 as one message needs. `refuse`: the reply to RCPT. */
function smtpServer(received: Received, refuse?: string): Server {
  return createServer(socket => {
    let inData = false
    let rest = ''
    socket.write('220 test ESMTP\r\n')
    socket.setEncoding('utf8')
    socket.on('error', () => {})
    socket.on('data', chunk => {
      rest += chunk
      for (let end = rest.indexOf('\r\n'); end !== -1; end = rest.indexOf('\r\n')) {
        const line = rest.slice(0, end)
        rest = rest.slice(end + 2)
        if (inData) {
          if (line === '.') {
            inData = false
            socket.write('250 taken\r\n')
          } else received.data += `${line}\n`
          continue
        }
        received.commands.push(line)
        const verb = line.split(' ')[0]?.toUpperCase()
        if (verb === 'DATA') {
          inData = true
          socket.write('354 go on\r\n')
        } else if (verb === 'QUIT') socket.end('221 bye\r\n')
        else if (verb === 'RCPT' && refuse !== undefined) socket.write(`${refuse}\r\n`)
        else socket.write('250 ok\r\n')
      }
    })
  })
}

/** Runs `use` with a mail server, and what it has received. */
export async function withSmtp(
  use: (smtp: string, received: Received) => Promise<void>,
  refuse?: string,
): Promise<void> {
  const received: Received = { commands: [], data: '' }
  const server = smtpServer(received, refuse)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  try {
    await use(`smtp://127.0.0.1:${(server.address() as AddressInfo).port}`, received)
  } finally {
    await new Promise(resolve => server.close(resolve))
  }
}
