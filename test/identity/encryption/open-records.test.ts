/** The sources of encryption keys, missing keys, and rotation. */
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { forwarding, type Records } from '../../../src/base/records.ts'
import { openSqlite } from '../../../src/engine/store/sqlite/sqlite.ts'
import { KeyFile, readKeyFile, writeKeyFile } from '../../../src/identity/encryption/key-file.ts'
import { forgetSecrets, openRecords, rotateSecrets } from '../../../src/identity/encryption/open-records.ts'
import { newKeyText } from '../../../src/identity/encryption/record-cipher.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { createUsers } from '../../engine/store/blog.ts'
import blog from '../../models/blog.ts'
import { ordinaryUser } from '../../setups/databases/programs.ts'
import { isEncrypted } from './is-encrypted.ts'

const folder = mkdtempSync(join(tmpdir(), 'portico-encryption-'))
after(() => rmSync(folder, { recursive: true, force: true }))

let count = 0

interface Base {
  readonly database: string
  readonly keyFile: string
  readonly stored: Records
  readonly notes: string[]
  open(keys?: readonly string[]): Promise<Records>
}

async function withBase(use: (base: Base) => Promise<void>): Promise<void> {
  const name = join(folder, `base-${++count}`)
  const store = openSqlite(checkModel(blog), { file: `${name}.db` })
  const notes: string[] = []
  await createUsers(store, 7)
  try {
    await use({
      database: `${name}.db`,
      keyFile: `${name}.key`,
      stored: store.records,
      notes,
      open: keys =>
        openRecords({
          records: store.records,
          keys,
          database: `${name}.db`,
          note: text => notes.push(text),
        }),
    })
  } finally {
    await store.close()
  }
}

const totp = {
  kind: 'Totp',
  id: '7',
  owner: '7',
  payload: '{"secret":"ABC","confirmed":true}',
  expiresAt: null,
}
const session = { kind: 'Session', id: 's', alias: 'uid', payload: '{"uid":"uid"}', expiresAt: null }

test('the first start creates a key file that only its owner can read; later starts use it', async () => {
  await withBase(async ({ keyFile, stored, notes, open }) => {
    await (await open()).put(totp)
    assert.equal(statSync(keyFile).mode & 0o777, 0o600)
    assert.match(notes[0] ?? '', /created the key file .+: back it up/)
    assert.ok(isEncrypted((await stored.get('Totp', '7'))?.payload ?? ''))
    const keys = readKeyFile(keyFile)
    const again = await open()
    assert.equal((await again.get('Totp', '7'))?.payload, totp.payload)
    assert.deepEqual(readKeyFile(keyFile), keys)
    assert.equal(notes.length, 1)
    chmodSync(keyFile, 0o644)
    await open()
    assert.match(notes[1] ?? '', /can be read by other users/)
  })
})

test('a key file that root rewrites belongs to the owner of its folder', async () => {
  await withBase(async ({ keyFile, open }) => {
    await open()
    const folder = dirname(keyFile)
    const { uid, gid } = ordinaryUser() ?? statSync(folder)
    chownSync(folder, uid, gid)
    writeKeyFile(keyFile, readKeyFile(keyFile) ?? [])
    const created = statSync(keyFile)
    assert.deepEqual([created.uid, created.gid, created.mode & 0o777], [uid, gid, 0o600])
  })
})

test('concurrent first starts use the same key', async () => {
  await withBase(async ({ open }) => {
    const all = await Promise.all(Array.from({ length: 8 }, () => open()))
    for (const [at, records] of all.entries()) {
      await records.put({ ...totp, id: String(at) })
      assert.equal((await all[0]?.get('Totp', String(at)))?.payload, totp.payload)
    }
  })
})

test('without the key, or with a wrong or damaged one, the start fails and says what to do', async () => {
  await withBase(async ({ keyFile, stored, open }) => {
    await (await open()).put(totp)
    copyFileSync(keyFile, `${keyFile}.kept`)
    rmSync(keyFile)
    await assert.rejects(open(), /key file .+ is missing.+restore it from a backup/)
    assert.ok(!existsSync(keyFile))
    await assert.rejects(open([newKeyText()]), /not among the given ones/)
    writeFileSync(keyFile, `${newKeyText()}\n`)
    await assert.rejects(open(), /not among the given ones/)
    writeFileSync(keyFile, 'nothing of the kind\n')
    await assert.rejects(open(), /damaged/)
    writeFileSync(keyFile, '')
    await assert.rejects(open(), /damaged/)
    const [key = ''] = readKeyFile(`${keyFile}.kept`) ?? []
    assert.equal((await (await open([key])).get('Totp', '7'))?.payload, totp.payload)
    assert.ok(isEncrypted((await stored.get('Totp', '7'))?.payload ?? ''))
  })
})

test('a PostgreSQL database needs the key in a setting, and the error says so', async () => {
  await withBase(async ({ stored }) => {
    const parts = { records: stored, database: 'postgres://u@h/db', note: () => undefined }
    await assert.rejects(
      openRecords({ ...parts, keys: undefined }),
      /PORTICO_SECRET_KEY must be set.+every node/,
    )
    await openRecords({ ...parts, keys: [newKeyText()] })
    // It is encrypted now, so another key would not do.
    await assert.rejects(openRecords({ ...parts, keys: undefined }), ({ message }: Error) => {
      assert.match(message, /PORTICO_SECRET_KEY must be set.+has a key.+key file of the copied database/)
      assert.doesNotMatch(message, /generate/i)
      return true
    })
  })
})

test('plain payloads and payloads of other records are refused', async () => {
  await withBase(async ({ stored, open }) => {
    const records = await open()
    await stored.put(totp)
    assert.throws(() => records.get('Totp', '7'), /is not encrypted/)
    await records.put({ ...totp, id: '8' })
    const other = await stored.get('Totp', '8')
    await stored.put({ ...totp, payload: other?.payload ?? '' })
    assert.throws(() => records.get('Totp', '7'), /another record/)
  })
})

test('a device code is found by its user code, which is not stored in plain text', async () => {
  await withBase(async ({ stored, open }) => {
    const records = await open()
    await records.put({ kind: 'DeviceCode', id: 'd', alias: 'WXYZ-ABCD', payload: '{}', expiresAt: null })
    assert.equal((await records.byAlias('DeviceCode', 'WXYZ-ABCD'))?.id, 'd')
    assert.equal(await records.byAlias('DeviceCode', 'WXYZ-ABCE'), undefined)
    assert.ok(!JSON.stringify(await stored.all('DeviceCode')).includes('WXYZ'))
  })
})

test('a swap replaces the payload unless it has changed', async () => {
  await withBase(async ({ open }) => {
    const records = await open()
    for (const kind of ['Totp', 'Other']) {
      await records.put({ ...totp, kind })
      assert.equal(await records.swap({ kind, id: '7' }, 'else', 'new'), false)
      assert.equal(await records.swap({ kind, id: '7' }, totp.payload, 'new'), true)
      assert.equal((await records.get(kind, '7'))?.payload, 'new')
      assert.equal(await records.swap({ kind, id: 'none' }, 'new', 'newer'), false)
    }
  })
})

test('a rotation while a service runs re-encrypts everything, and then the old key can be removed', async () => {
  await withBase(async ({ database, keyFile, stored, open }) => {
    const running = await open()
    await running.put(totp)
    await running.put({ kind: 'DeviceCode', id: 'd', alias: 'WXYZ', payload: '{}', expiresAt: null })
    const wait = () => new Promise<void>(resolve => setTimeout(resolve, 700))
    const parts = { records: stored, keys: undefined, database, wait }
    const before = (await stored.get('Totp', '7'))?.payload
    assert.equal(await rotateSecrets(parts), 3)
    assert.notEqual((await stored.get('Totp', '7'))?.payload, before)
    assert.equal(readKeyFile(keyFile)?.length, 2)
    assert.equal(statSync(keyFile).mode & 0o777, 0o600)
    assert.equal((await running.get('Totp', '7'))?.payload, totp.payload)
    assert.equal((await running.byAlias('DeviceCode', 'WXYZ'))?.id, 'd')
    await running.put({ ...totp, id: '8' })
    assert.equal(await forgetSecrets(parts), 1)
    assert.equal(readKeyFile(keyFile)?.length, 1)
    for (const id of ['7', '8']) assert.equal((await (await open()).get('Totp', id))?.payload, totp.payload)
  })
})

test('a record that is written with the old key after a rotation is re-encrypted before that key is removed', async () => {
  await withBase(async ({ database, keyFile, stored, open }) => {
    await open()
    const slow = await open(readKeyFile(keyFile))
    const parts = { records: stored, keys: undefined, database, wait: async () => undefined }
    await rotateSecrets(parts)
    await slow.put(totp)
    assert.equal(await forgetSecrets(parts), 1)
    assert.equal((await (await open()).get('Totp', '7'))?.payload, totp.payload)
  })
})

test('a rotation reads the records in batches, and re-encrypts all of them', async () => {
  await withBase(async ({ database, stored, open }) => {
    const running = await open()
    const ids = Array.from({ length: 1200 }, (_, at) => `session-${at}`)
    await Promise.all(ids.map(id => running.put({ ...session, id, alias: id })))
    let largestBatch = 0
    const records: Records = {
      ...forwarding(stored),
      all: () => assert.fail('all at once'),
      after(kind, id, limit) {
        largestBatch = Math.max(largestBatch, limit)
        return stored.after(kind, id, limit)
      },
    }
    const parts = { records, keys: undefined, database, wait: async () => undefined }
    assert.equal(await rotateSecrets(parts), ids.length + 1)
    assert.ok(largestBatch > 0 && largestBatch <= 500)
    assert.equal(await forgetSecrets(parts), 1)
    assert.equal((await (await open()).all('Session')).length, ids.length)
  })
})

test('of two concurrent changes of the key file one is refused, so that no key is lost', async () => {
  await withBase(async ({ database, keyFile, stored, open }) => {
    await (await open()).put(totp)
    let second: Promise<unknown> = Promise.resolve()
    const parts = { records: stored, keys: undefined, database, wait: async () => undefined }
    const first = rotateSecrets({
      ...parts,
      wait: async () => {
        second = Promise.allSettled([rotateSecrets(parts), forgetSecrets(parts)])
        await second
      },
    })
    assert.equal(await first, 2)
    for (const answer of (await second) as PromiseSettledResult<number>[])
      assert.match(String(answer.status === 'rejected' && answer.reason), /key file .+ is being changed/)
    assert.equal(readKeyFile(keyFile)?.length, 2)
    assert.equal((await (await open()).get('Totp', '7'))?.payload, totp.payload)
    assert.equal(await forgetSecrets(parts), 1)
  })
})

test('without a key file, rotating and forgetting keys creates none', async () => {
  await withBase(async ({ database, keyFile, stored }) => {
    const parts = { records: stored, keys: undefined, database, wait: async () => undefined }
    await assert.rejects(forgetSecrets(parts), /no key file/)
    await assert.rejects(rotateSecrets(parts), /no key file/)
    assert.ok(!existsSync(keyFile))
  })
})

test('rotation by the setting: the first key encrypts, and then the second can be removed', async () => {
  await withBase(async ({ database, keyFile, stored, open }) => {
    const [old, young] = [newKeyText(), newKeyText()]
    await (await open([old])).put(totp)
    await open([young, old])
    const parts = { records: stored, keys: [young, old], database, wait: async () => undefined }
    assert.equal(await rotateSecrets(parts), 2)
    assert.equal(await rotateSecrets(parts), 0)
    assert.equal((await (await open([young])).get('Totp', '7'))?.payload, totp.payload)
    await assert.rejects(open([old]), /not among the given ones/)
    await assert.rejects(forgetSecrets(parts), /leave only the first/)
    assert.ok(!existsSync(keyFile))
  })
})

test('a running service keeps its keys when the key file is deleted', async () => {
  await withBase(async ({ keyFile, open }) => {
    await open()
    const source = new KeyFile(keyFile, readKeyFile(keyFile) ?? [])
    const text = readFileSync(keyFile, 'utf8')
    rmSync(keyFile)
    await new Promise(resolve => setTimeout(resolve, 600))
    assert.equal(source.keys().length, 1)
    writeFileSync(keyFile, text)
  })
})

test('a running service keeps its keys while the key file is partly written', async () => {
  await withBase(async ({ keyFile, open }) => {
    await open()
    const source = new KeyFile(keyFile, readKeyFile(keyFile) ?? [])
    const text = readFileSync(keyFile, 'utf8')
    writeFileSync(keyFile, text.slice(0, 20))
    await new Promise(resolve => setTimeout(resolve, 600))
    assert.equal(source.keys().length, 1)
    writeFileSync(keyFile, `${text}${newKeyText()}\n`)
    await new Promise(resolve => setTimeout(resolve, 600))
    assert.equal(source.keys().length, 2)
  })
})
