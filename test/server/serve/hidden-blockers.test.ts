/** A deletion that is refused names no item, collection or field that the caller may not read. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newKeyText } from '../../../src/identity/encryption/record-cipher.ts'
import { generateKey } from '../../../src/identity/keys/key.ts'
import { anyone, boolean, collection, field, model, relation, role, string } from '../../../src/index.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import { serve } from '../../../src/server/serve/serve.ts'
import { databaseKinds, rowSecurityPostgres } from '../../api/contract/rest/databases.ts'
import { chosen } from '../../chosen.ts'
import { call } from './service.ts'

const open = { create: anyone, update: anyone, delete: anyone }
const administrators = role('admin')

const declaration = model({
  racks: collection({ fields: { name: string({ max: 20 }) }, access: { read: anyone, ...open } }),
  boxes: collection({
    fields: { rack_id: relation('racks', { onDelete: 'cascade' }) },
    access: { read: anyone, ...open },
  }),
  reports: collection({
    fields: { box_id: relation('boxes'), public: boolean({ default: false }) },
    access: { read: field('public').eq(true).or(administrators), ...open },
  }),
  offers: collection({
    fields: { box_id: relation('boxes', { access: { read: administrators } }) },
    access: { read: anyone, ...open },
  }),
})

for (const kind of chosen([...databaseKinds, rowSecurityPostgres])) {
  describe(`a refused deletion on ${kind.name}`, () => {
    test('names what the caller may read of the items that still refer to it, and nothing else', async () => {
      const database = await kind.create(checkModel(declaration))
      const key = generateKey()
      const service = await serve(declaration, {
        ...{ host: '127.0.0.1', port: 0, logLevel: 'silent', database: database.url, adminApiKey: key },
        ...{ secretKeys: [newKeyText()], rowSecurity: kind === rowSecurityPostgres },
      })
      const api = `${service.url}/api/v1`
      const create = async (path: string, body: object) => {
        const created = await call(`${api}/${path}`, { method: 'POST', key, body })
        assert.equal(created.status, 201, created.text)
        return Number(created.json.id)
      }
      const refusals = async (id: number, credential?: string) => {
        const options = { method: 'DELETE', key: credential }
        const post = { method: 'POST', key: credential }
        const operations = [{ method: 'DELETE', path: `/racks/${id}` }]
        const answers = [
          await call(`${api}/racks/${id}`, options),
          await call(`${api}/batch`, { ...post, body: { operations } }),
          await call(`${service.url}/graphql`, {
            ...post,
            body: { query: `mutation { deleteRack(id: ${id}) }` },
          }),
        ]
        for (const { text } of answers) assert.match(text, /CONFLICT/)
        return answers.map(({ text }) => text)
      }
      try {
        const id = await create('racks', { name: 'a' })
        const box_id = await create('boxes', { rack_id: id })
        const scoped = await call(`${api}/api_keys`, {
          ...{ method: 'POST', key },
          body: { name: 'k', scopes: ['write:rack'] },
        })
        const requireHidden = async (credential?: string) => {
          for (const text of await refusals(id, credential)) {
            assert.match(text, /Other items still refer to this one\./)
            assert.doesNotMatch(text, /reports|offers|box/)
          }
        }
        const requireNamed = async (name: string, credential?: string) => {
          for (const text of await refusals(id, credential))
            assert.ok(
              text.includes(`Items of ${name} still refer to item ${box_id} of boxes, by box_id.`),
              text,
            )
        }
        const offer = await create('offers', { box_id })
        await requireHidden()
        await requireHidden(String(scoped.json.key))
        await requireNamed('offers', key)
        const hidden = await create('reports', { box_id })
        await requireHidden()
        assert.equal((await call(`${api}/offers/${offer}`, { method: 'DELETE', key })).status, 204)
        await requireHidden()
        await requireNamed('reports', key)
        assert.equal((await call(`${api}/reports/${hidden}`, { method: 'DELETE', key })).status, 204)
        await create('reports', { box_id, public: true })
        await requireNamed('reports')
        await requireHidden(String(scoped.json.key))
      } finally {
        await service.close()
        await database.drop()
      }
    })
  })
}
