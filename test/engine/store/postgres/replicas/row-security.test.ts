/** Row security on a standby: its reads run on behalf of the caller, as on the primary. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { user } from '../../../../../src/base/principal.ts'
import { openPostgres } from '../../../../../src/engine/store/postgres/postgres.ts'
import { urlFor } from '../../../../setups/databases/owner.ts'
import { query } from '../../../../setups/databases/postgres.ts'
import { startStandbys, until, untilCaughtUp } from '../../../../setups/databases/replicated.ts'
import { blog, Client, fields, listOfPosts } from '../../blog.ts'

const owner = { name: 'table_owner', password: 'no superuser' }
const people = { ...listOfPosts, collection: 'users', select: fields('id', 'name') } as const

test('with row security, a standby serves the reads of callers, and plain SQL sees no rows there', async () => {
  const servers = await startStandbys(1)
  try {
    const { url: admin, standbys } = await servers.newDatabase()
    const database = new URL(admin).pathname.slice(1)
    await query(
      admin,
      `CREATE ROLE ${owner.name} LOGIN PASSWORD '${owner.password}'; ALTER DATABASE "${database}" OWNER TO ${owner.name}`,
    )
    const url = urlFor(admin, owner)
    const [standby = ''] = standbys.map(url => urlFor(url, owner))
    const replicas = [{ url: standby }]
    const store = await openPostgres(blog, {
      url,
      replicas,
      connections: 4,
      cacheBytes: 0,
      rowSecurity: true,
    })
    try {
      const client = new Client(store)
      await client.create('users', { name: 'ann', email: 'ann@example.com' })
      const { id } = await client.create('posts', { title: 'first', author_id: 1 })
      const ann = user(1, 'user', 'all')
      const names = async () => (await client.list(people, [0, 50], ann)).items?.map(({ name }) => name)
      await until('the standby answers', async () => {
        const before = store.replicas?.().answers ?? 0
        assert.deepEqual(await names(), ['ann'])
        return (store.replicas?.().answers ?? 0) > before
      })
      await client.update('posts', id, { title: 'second' }, ann)
      const logged = await store.changes.after(0, 10)
      assert.deepEqual(
        logged.map(({ collection, kind }) => `${collection} ${kind}`),
        ['users created', 'posts created', 'posts updated'],
      )
      await untilCaughtUp(admin, standby)
      assert.deepEqual(await query(standby, 'SELECT name FROM users'), [])
      assert.deepEqual(await query(standby, `SET portico.service = 'on'; SELECT name FROM users`), [
        { name: 'ann' },
      ])
    } finally {
      await store.close()
    }
  } finally {
    await servers.close()
  }
})
