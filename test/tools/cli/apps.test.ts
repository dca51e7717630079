/** `portico apps`, while a service runs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { post, redirectUri, withFixture } from '../../identity/conformance/server.ts'
import { portico as command } from '../../system/processes/command.ts'

test('portico apps creates, lists and ends an app’s secrets, with immediate effect on a running service', async () => {
  await withFixture({}, async ({ deployment: { database }, url }) => {
    const portico = (...words: string[]) => command(words, { environment: { DATABASE_URL: database } })
    const own = ['--user', 'ann@example.com', '--name', 'By command', '--redirect-uri', redirectUri]
    const created = await portico('apps', 'create', ...own)
    const [, id = '', first = ''] = /client_id +(\S+)\nclient_secret +(\S+)/.exec(created.out) ?? []
    assert.match(first, /^ps_/, created.err)
    const works = async (secret: string) => {
      const form = { grant_type: 'client_credentials', scope: 'read:post', client_id: id }
      return (await post(`${url}/oauth/token`, { ...form, client_secret: secret })).status === 200
    }
    assert.ok(await works(first))
    const rotated = await portico('apps', 'rotate-secret', id)
    const [, second = ''] = /client_secret +(\S+)/.exec(rotated.out) ?? []
    assert.match(rotated.out, /Older secrets remain valid for 86400 s/)
    assert.ok((await works(first)) && (await works(second)))
    const { out } = await portico('apps', 'secrets', id)
    const rows = out.trim().split('\n').slice(1)
    const endedRow = rows.find(line => line.includes(first.slice(0, 10)))
    assert.match(String(endedRow), / 20\d\d-\S+Z +20\d\d-\S+Z$/)
    assert.match(String(rows.find(line => line.includes(second.slice(0, 10)))), / –$/)
    assert.ok(!out.includes(first) && !out.includes(second))
    const [row = ''] = endedRow?.split(' ') ?? []
    assert.equal((await portico('apps', 'end-secret', id, row)).out, `Ended secret ${row} of By command.\n`)
    assert.deepEqual([await works(first), await works(second)], [false, true])
    const again = await portico('apps', 'end-secret', id, row)
    assert.equal(again.code, 1)
    assert.match(again.err, /has no secret .*portico apps secrets app_/)
    const other = await portico('apps', 'create', '--type', 'public', '--first-party', ...own)
    const [, open = ''] = /client_id +(\S+)/.exec(other.out) ?? []
    const all = await portico('apps', 'list')
    assert.match(all.out, /^id .*first_party/)
    assert.match(String(all.out.split('\n').find(line => line.includes(open))), / true /)
    assert.match(String(all.out.split('\n').find(line => line.includes(id))), / false /)
    assert.match((await portico('apps', 'secrets', open)).err, /is a public app: it has no secret/)
  })
})
