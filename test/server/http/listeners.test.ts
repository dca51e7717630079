/** Listening on a port: several sockets of one service, and no second service. */

import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, type ListenOptions, Socket } from 'node:net'
import { test } from 'node:test'
import { Listeners } from '../../../src/server/http/listeners.ts'
import { failureOf } from '../../../src/tools/cli/error-message.ts'
import { withFile } from '../../engine/store/blog.ts'
import { blog } from '../../system/processes/command.ts'
import { inheritedEnvironment } from '../../system/processes/environment.ts'
import { freePort } from '../../system/processes/port.ts'
import { startProcess } from '../../system/processes/portico.ts'
import { program } from '../../system/processes/program.ts'

const rounds = 20

test('one of several servers that listen on a port at the same time succeeds', async () => {
  for (let round = 0; round < rounds; round++) {
    const place = { host: '127.0.0.1', port: await freePort() }
    const all = [1, 2, 3].map(() => new Listeners(createServer()))
    const results = await Promise.allSettled(all.map(listeners => listeners.open(place, false)))
    const open = all.filter((_, index) => results[index]?.status === 'fulfilled')
    const codes = results.flatMap(result => (result.status === 'rejected' ? [result.reason.code] : []))
    await Promise.all(open.map(listeners => listeners.close()))
    assert.deepEqual([open.length, codes], [1, ['EADDRINUSE', 'EADDRINUSE']], `round ${round}`)
  }
})

test('if a further socket cannot be opened, the start fails and closes the others, although a client waits for a response', async () => {
  const server = createServer()
  const client = new Socket().on('error', () => undefined)
  const requested = once(server, 'request')
  const listen = server.listen.bind(server)
  const listenAndConnect = (options: ListenOptions, listener: () => void) =>
    listen(options, () => {
      client.connect((server.address() as AddressInfo).port, '127.0.0.1')
      client.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      requested.then(listener)
    })
  Object.assign(server, { listen: listenAndConnect })
  let reads = 0
  const address = {
    port: 0,
    get host() {
      reads++
      // The first socket listens. No machine has the other address (RFC 5737).
      return reads === 1 ? '127.0.0.1' : '192.0.2.1'
    },
  }
  const ended = once(client, 'close')
  await assert.rejects(new Listeners(server).open(address, true), { code: 'EADDRNOTAVAIL' })
  await ended
  assert.equal(server.listening, false)
})

/** The exit of a process. */
interface Exit {
  readonly code: number | null
  readonly output: string
}

/** Resolves when the process listens or has exited. */
function untilStarted(child: ChildProcess): Promise<Exit | 'listening'> {
  return new Promise(resolve => {
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', chunk => {
        output += chunk
        if (output.includes('listening on')) resolve('listening')
      })
    }
    child.once('close', code => resolve({ code, output }))
  })
}

for (const workers of ['1', '2']) {
  test(`of two services started at the same time with ${workers} worker(s) each, one reports that the port is in use`, () =>
    withFile(async file => {
      for (let round = 0; round < 2; round++) {
        const port = String(await freePort())
        const children = ['a', 'b'].map(name =>
          spawn(process.execPath, [...program, 'start'], {
            env: {
              ...inheritedEnvironment,
              PORTICO_MODEL: blog,
              HOST: '127.0.0.1',
              PORT: port,
              WORKERS: workers,
              LOG_LEVEL: 'info',
              DATABASE_URL: `${file}-${round}-${name}`,
            },
          }),
        )
        try {
          const outcomes = await Promise.all(children.map(untilStarted))
          const exits = outcomes.filter(outcome => outcome !== 'listening')
          assert.equal(exits.length, 1)
          assert.equal(exits[0]?.code, 1)
          assert.match(
            exits[0]?.output ?? '',
            /EADDRINUSE.*: another program listens on this port \(node in .*\)\. Set PORT to a free one, e\.g\. PORT=\d+/,
          )
        } finally {
          for (const child of children) child.kill('SIGKILL')
        }
      }
    }))
}

test('a process with a low limit of open files serves with fewer sockets', () =>
  withFile(async file => {
    const wrapper = ['sh', '-c', 'ulimit -n 64 && exec "$@"', 'sh']
    const service = await startProcess({ wrapper, environment: { DATABASE_URL: file } })
    try {
      const answers = await Promise.all([1, 2, 3, 4].map(() => service.call('/healthz')))
      assert.deepEqual(
        answers.map(answer => answer.status),
        [200, 200, 200, 200],
      )
    } finally {
      await service.end('SIGKILL')
    }
  }))

test('a process that cannot open a single socket names the limit to raise', async () => {
  const error = Object.assign(new Error('listen EMFILE: too many open files 127.0.0.1:3000'), {
    code: 'EMFILE',
    syscall: 'listen',
  })
  assert.match((await failureOf(error))?.message ?? '', /EMFILE.*`ulimit -n`.*LimitNOFILE/)
})
