/** The order of system calls: no acknowledgement is sent before the sync of the log that covers its commit. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { withFile } from '../../engine/store/blog.ts'
import { type Process, startProcess } from '../processes/portico.ts'
import { checkDurability, type DurabilityResult, isAcknowledgement, parseTrace, strace } from './trace.ts'

const key = 'k'.repeat(32)
const writerCount = 8
const rounds = 5
const traced = 'trace=write,writev,sendto,sendmsg,pwrite64,pwritev,pwritev2,fsync,fdatasync'

/** Creates and updates posts; each change contains a unique mark. Returns the marks. */
async function sendWrites(service: Process): Promise<ReadonlySet<string>> {
  const sent = new Set<string>()
  const write = async (method: string, path: string, title: string) => {
    sent.add(title)
    const answer = await service.call(path, { method, key, body: { title } })
    assert.ok(answer.status === 200 || answer.status === 201, answer.text)
    return answer.json
  }
  const lane = async (index: number) => {
    for (let round = 0; round < rounds; round++) {
      const { id } = await write('POST', '/api/v1/posts', `mark${index}x${2 * round}end`)
      await write('PATCH', `/api/v1/posts/${id}`, `mark${index}x${2 * round + 1}end`)
    }
  }
  await Promise.all(Array.from({ length: writerCount }, (_, index) => lane(index)))
  return sent
}

async function analyseLoad(
  nodeOptions: readonly string[],
): Promise<DurabilityResult & { readonly sent: ReadonlySet<string> }> {
  return withFile(async file => {
    const output = join(file, '..', 'trace')
    const environment = { DATABASE_URL: file, PORTICO_ADMIN_API_KEY: key }
    const service = await startProcess({ environment, nodeOptions, wrapper: strace(output, ['-e', traced]) })
    const sent = await sendWrites(service).finally(() => service.end('SIGKILL'))
    return { sent, ...checkDurability(parseTrace(readFileSync(output, 'latin1'))) }
  })
}

describe('a service under write load', () => {
  it('acknowledges nothing before the log is synced', async () => {
    const { sent, acknowledged, violations } = await analyseLoad([])
    assert.deepEqual(violations, [])
    assert.deepEqual(
      [...sent].filter(mark => !acknowledged.has(mark)),
      [],
    )
  })

  it('is detected when it does not sync', async () => {
    const withoutSync = join(import.meta.dirname, 'without-sync.mjs')
    const { sent, violations } = await analyseLoad(['--import', withoutSync])
    for (const mark of sent)
      assert.ok(
        violations.some(text => text.includes(mark)),
        mark,
      )
  })
})

const log = '22</data/a.db-wal>'
const page = (thread: number, mark: string) =>
  `${thread}  pwrite64(${log}, "\\0\\0${mark}\\0", 4096, 56) = 4096`
const answer = (thread: number, mark: string) =>
  `${thread}  writev(30<socket:[1]>, [{iov_base="HTTP/1.1 201 Created\\r\\n\\r\\n", iov_len=24}, {iov_base="{\\"title\\":\\"${mark}\\"}", iov_len=23}], 2) = 47`
const violationsOf = (...lines: readonly string[]) =>
  checkDurability(parseTrace(`${lines.join('\n')}\n`)).violations.length

describe('the analysis of a trace', () => {
  it('accepts an acknowledgement after its sync', () => {
    assert.equal(violationsOf(page(7, 'mark1x1end'), `7  fsync(${log}) = 0`, answer(7, 'mark1x1end')), 0)
    assert.equal(violationsOf(page(7, 'mark1x1end'), `7  fdatasync(${log}) = 0`, answer(7, 'mark1x1end')), 0)
  })

  it('detects an acknowledgement without a sync, and one before it', () => {
    assert.ok(violationsOf(page(7, 'mark1x1end'), answer(7, 'mark1x1end')) > 0)
    assert.ok(violationsOf(page(7, 'mark1x1end'), answer(7, 'mark1x1end'), `7  fsync(${log}) = 0`) > 0)
  })

  it('detects an acknowledgement whose rows are written later', () => {
    assert.ok(violationsOf(`7  fsync(${log}) = 0`, answer(7, 'mark1x1end'), page(7, 'mark1x1end')) > 0)
  })

  it('detects an acknowledgement after a failed sync, and after the sync of another file', () => {
    const failed = `7  fsync(${log}) = -1 EIO (Input/output error) (INJECTED)`
    assert.ok(violationsOf(page(7, 'mark1x1end'), failed, answer(7, 'mark1x1end')) > 0)
    const other = '7  fsync(21</data/a.db>) = 0'
    assert.ok(violationsOf(page(7, 'mark1x1end'), other, answer(7, 'mark1x1end')) > 0)
  })

  it('detects a sync of another thread that is incomplete, or that began before the write', () => {
    const begun = `8  fsync(${log} <unfinished ...>`
    const resumed = '8  <... fsync resumed>) = 0'
    assert.ok(violationsOf(page(7, 'mark1x1end'), begun, answer(7, 'mark1x1end'), resumed) > 0)
    assert.ok(violationsOf(begun, page(7, 'mark1x1end'), resumed, answer(7, 'mark1x1end')) > 0)
    assert.equal(violationsOf(page(7, 'mark1x1end'), begun, resumed, answer(7, 'mark1x1end')), 0)
  })

  it('detects an acknowledgement that was synced while a later commit was not', () => {
    const lines = [page(7, 'mark1x1end'), `7  fsync(${log}) = 0`, page(7, 'mark1x2end')]
    assert.ok(violationsOf(...lines, answer(7, 'mark1x1end')) > 0)
  })

  it('counts a response as sent from its beginning, and ignores refusals', () => {
    const [head = '', tail = ''] = answer(7, 'mark1x1end').split('], 2')
    const begun = `${head}], 2 <unfinished ...>`
    const resumed = `7  <... writev resumed>${tail}`
    assert.ok(violationsOf(page(8, 'mark1x1end'), begun, `8  fsync(${log}) = 0`, resumed) > 0)
    const [refused] = parseTrace(
      '7  write(30<socket:[1]>, "HTTP/1.1 503 Service Unavailable\\r\\n", 34) = 34\n',
    )
    assert.ok(refused && !isAcknowledgement(refused))
  })
})
