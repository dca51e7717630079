/** Checks that read: whoever may not write learns nothing from them, and nobody sees what they have read. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { check, collection, model, nobody, owner, relation, signedIn, string } from '../../../src/index.ts'
import type { TestService } from '../../../src/testing.ts'
import { chosen } from '../../chosen.ts'
import { serviceSetups } from '../../setups/databases/services.ts'

const secret = 'HIDDENSECRET'
/** How often the check has run. */
let runs = 0

const declared = model(
  {
    notes: collection({
      fields: { title: string(), owner_id: relation('users', { inverse: 'notes' }) },
      access: { read: owner('owner_id'), create: owner('owner_id'), update: owner('owner_id') },
    }),
    rules: collection({
      fields: { word: string(), reason: string() },
      access: { read: nobody, create: signedIn },
    }),
  },
  {
    checks: {
      notes: check(async ({ next, data }) => {
        runs++
        const rule = await data.rules.first({ where: { word: next.title } })
        if (rule?.word === 'broken') throw new Error(rule.reason)
        return rule ? [{ field: 'title', message: 'This title is taken.' }] : []
      }),
    },
  },
)

type Service = TestService<typeof declared>
interface Caller {
  readonly name: string
  readonly as?: number
  readonly headers?: Readonly<Record<string, string>>
}

/** Each way to write a note of this owner with this title. `id`: of a note of the owner. */
function writesOf(title: string, owner_id: number, id: number): readonly (readonly [string, object])[] {
  const note = { title, owner_id }
  const batch = (method: string, path: string, body: object) =>
    ['POST /api/v1/batch', { operations: [{ method, path, body }] }] as const
  const graphql = (call: string) => ['POST /graphql', { query: `mutation { ${call} { id } }` }] as const
  return [
    ['POST /api/v1/notes', note],
    ['POST /api/v1/notes', [note]],
    [`PATCH /api/v1/notes/${id}`, { title }],
    [`PUT /api/v1/notes/${id}`, note],
    batch('POST', '/notes', note),
    batch('PATCH', `/notes/${id}`, { title }),
    graphql(`createNote(title: "${title}", ownerId: ${owner_id})`),
    graphql(`updateNote(id: ${id}, title: "${title}")`),
  ]
}

async function cast(service: Service) {
  const ann = (await service.users.create({ name: 'Ann' })).id
  const stranger = (await service.users.create({ name: 'Stranger' })).id
  for (const word of ['taken', 'broken']) await service.asSystem.rules.create({ word, reason: secret })
  const body = { name: 'Reads only', scopes: ['read:note'] }
  const { body: key } = await service.request('POST /api/v1/api_keys', { as: ann, body })
  const refused: readonly Caller[] = [
    { name: 'a stranger', as: stranger },
    { name: 'an anonymous caller' },
    { name: 'a key without the scope', headers: { authorization: `Bearer ${key.key}` } },
  ]
  return { ann, refused }
}

for (const { name: setup, within } of chosen(serviceSetups)) {
  test(`a check decides for those who may write, and runs for no one else (${setup})`, () =>
    within(declared, async service => {
      const { ann, refused } = await cast(service)
      const { id } = await service.asSystem.notes.create({ title: 'first', owner_id: ann })
      const stored = async () => JSON.stringify(await service.asSystem.notes.list())
      const before = await stored()
      const send = async ([line, body]: readonly [string, object], { name: _name, ...caller }: Caller) => {
        const { status, text } = await service.request(line, { ...caller, body })
        assert.ok(!text.includes(secret), `${line}: ${text}`)
        return { status, text }
      }
      for (const caller of refused) {
        runs = 0
        const answersTo = (title: string) =>
          Promise.all(writesOf(title, ann, id).map(write => send(write, caller)))
        const answers = await answersTo('fine')
        for (const title of ['taken', 'broken'])
          assert.deepEqual(await answersTo(title), answers, caller.name)
        for (const { status, text } of answers)
          assert.ok(status >= 400 || text.includes('"errors"'), `${caller.name}: ${text}`)
        assert.equal(runs, 0, caller.name)
        assert.equal(await stored(), before, caller.name)
      }
      for (const [title, code] of [
        ['taken', 'VALIDATION_FAILED'],
        ['broken', 'INTERNAL_ERROR'],
      ] as const) {
        for (const write of writesOf(title, ann, id)) {
          const { text } = await send(write, { name: 'Ann', as: ann })
          assert.ok(text.includes(code), `${write[0]}: ${text}`)
        }
      }
      assert.equal(await stored(), before)
      for (const write of writesOf('fine', ann, id)) {
        const { text } = await send(write, { name: 'Ann', as: ann })
        assert.doesNotMatch(text, /error/, write[0])
      }
      assert.equal(await service.asSystem.notes.count({ title: 'fine' }), 5)
    }))
}
