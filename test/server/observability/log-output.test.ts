import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as wait } from 'node:timers/promises'
import { type Files, LineOutput } from '../../../src/server/observability/log-output.ts'
import { blog } from '../../system/processes/command.ts'
import { inheritedEnvironment } from '../../system/processes/environment.ts'
import { freePort } from '../../system/processes/port.ts'
import { program } from '../../system/processes/program.ts'
import { call } from '../serve/service.ts'

/** A file with `freeBytes` bytes of free space; `fault` is its error beyond that. */
class Disk implements Files {
  text = ''
  freeBytes = Number.POSITIVE_INFINITY
  fault = 'ENOSPC'

  writeSync(_fd: number, data: Buffer, offset: number): number {
    const written = data.subarray(offset, offset + this.freeBytes)
    if (written.length === 0) throw Object.assign(new Error(this.fault), { code: this.fault })
    this.freeBytes -= written.length
    this.text += written.toString()
    return written.length
  }

  write(...[fd, data, offset, callback]: Parameters<Files['write']>): void {
    setImmediate(() => {
      try {
        callback(null, this.writeSync(fd, data, offset))
      } catch (error) {
        callback(error as NodeJS.ErrnoException, 0)
      }
    })
  }
}

const settled = async () => {
  for (let count = 0; count < 10; count++) await turn()
}

test('lines are written in order, including those that arrive during a write', async () => {
  const disk = new Disk()
  const output = new LineOutput(1, disk)
  for (const line of ['a\n', 'b\n', 'c\n']) output.write(line)
  await settled()
  assert.equal(disk.text, 'a\nb\nc\n')
})

test('a full disk drops lines; when it has space again, the log reports how many are missing', async () => {
  const disk = new Disk()
  const output = new LineOutput(1, disk)
  output.write('{"first":1}\n')
  await settled()
  disk.freeBytes = 5
  output.write('{"torn":1}\n{"lost":1}\n')
  await settled()
  output.write('{"lost":2}\n')
  await settled()
  disk.freeBytes = Number.POSITIVE_INFINITY
  output.write('{"last":1}\n')
  await settled()
  const [first, torn, printed, last] = disk.text.split('\n')
  assert.deepEqual([first, torn, last], ['{"first":1}', '{"tor', '{"last":1}'])
  const { time, ...line } = JSON.parse(printed ?? '')
  assert.ok(time > 0)
  assert.deepEqual(line, {
    level: 40,
    lines: 3,
    reason: 'ENOSPC',
    msg: 'lines of the log could not be written',
  })
  output.write('{"after":1}\n')
  await settled()
  assert.ok(disk.text.endsWith('{"last":1}\n{"after":1}\n'), 'it is reported once')
})

test('closing does not wait for a full disk', () => {
  const disk = new Disk()
  disk.freeBytes = 0
  const output = new LineOutput(1, disk)
  output.write('a\n')
  output.write('b\n')
  output.flushSync()
  assert.equal(disk.text, '')
})

test('a full pipe is retried, and closing waits for it', async () => {
  const disk = new Disk()
  disk.fault = 'EAGAIN'
  disk.freeBytes = 1
  const output = new LineOutput(1, disk)
  output.write('a\n')
  await settled()
  output.write('b\n')
  disk.freeBytes = 1
  await wait(80)
  assert.equal(disk.text, 'a\n')
  await settled()
  disk.freeBytes = 4
  output.write('c\n')
  output.flushSync()
  await wait(80)
  assert.equal(disk.text, 'a\nb\nc\n')
})

test('the memory for unwritten lines is limited', async () => {
  const disk = new Disk()
  disk.fault = 'EAGAIN'
  disk.freeBytes = 0
  const output = new LineOutput(1, disk)
  output.write('begun\n')
  await settled()
  const line = `${'x'.repeat(1_048_575)}\n`
  for (let count = 0; count < 20; count++) output.write(line)
  disk.freeBytes = Number.POSITIVE_INFINITY
  output.flushSync()
  output.write('last\n')
  await settled()
  assert.ok(disk.text.length < 17_000_000)
  assert.match(disk.text, /"lines":4,.*could not be written"\}\n/)
  assert.ok(disk.text.endsWith('last\n'))
})

test('nothing is kept for a closed pipe', async () => {
  const disk = new Disk()
  disk.fault = 'EPIPE'
  disk.freeBytes = 0
  const output = new LineOutput(1, disk)
  output.write('a\n')
  await settled()
  disk.freeBytes = 100
  output.write('b\n')
  output.flushSync()
  assert.equal(disk.text, '')
})

/** Waits until the service responds. */
async function answering(url: string): Promise<void> {
  for (let count = 0; count < 400; count++) {
    const status = await call(`${url}/readyz`).then(
      answer => answer.status,
      () => 0,
    )
    if (status === 200) return
    await wait(50)
  }
  assert.fail('the service does not respond')
}

test('a service whose log is on a full disk responds, and stops on request', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'portico-log-'))
  const full = openSync('/dev/full', 'w')
  const port = await freePort()
  const service = spawn(process.execPath, [...program, 'start'], {
    cwd: folder,
    env: { ...inheritedEnvironment, PORTICO_MODEL: blog, HOST: '127.0.0.1', PORT: String(port) },
    stdio: ['ignore', full, 'pipe'],
  })
  let printed = ''
  service.stderr?.on('data', text => {
    printed += text
  })
  const exit = once(service, 'exit')
  try {
    const url = `http://127.0.0.1:${port}`
    await answering(url)
    assert.equal((await call(`${url}/api/v1/posts`)).status, 200)
    // The first lines are written meanwhile.
    await wait(600)
    assert.equal((await call(`${url}/api/v1/posts`)).status, 200)
    service.kill('SIGTERM')
    assert.deepEqual(await exit, [0, null], printed)
    assert.match(printed, /password {2}\S+\n/, 'the password, which is shown once, is not lost')
  } finally {
    service.kill('SIGKILL')
    closeSync(full)
    rmSync(folder, { recursive: true, force: true })
  }
})

test('a command whose reader stops early succeeds; one whose output cannot be written fails', async () => {
  const words = [process.execPath, ...program, 'print', 'openapi'].join(' ')
  const cut = spawnSync('sh', ['-c', `{ ${words}; echo "ended with $?" >&2; } | head -c 5`], {
    env: { ...inheritedEnvironment, PORTICO_MODEL: blog },
    encoding: 'utf8',
  })
  assert.deepEqual([cut.stdout.length, cut.stderr], [5, 'ended with 0\n'])
  const full = spawnSync('sh', ['-c', `${words} > /dev/full`], {
    env: { ...inheritedEnvironment, PORTICO_MODEL: blog },
    encoding: 'utf8',
  })
  assert.equal(full.status, 1)
  assert.match(full.stderr, /^Cannot write to standard output: ENOSPC[^\n]*\n$/)
})
