/** A rule on the result of a write sees the other items as they were: the item does not vouch for itself. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { system, user } from '../../../../src/base/principal.ts'
import {
  anyone,
  boolean,
  choice,
  collection,
  datetime,
  field,
  integer,
  json,
  manyToMany,
  model,
  nobody,
  number,
  owner,
  related,
  relation,
  role,
  signedIn,
  string,
  text,
  unique,
  users,
} from '../../../../src/index.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import { Client } from '../blog.ts'
import { databaseKinds } from '../databases.ts'

const isAdmin = related('memberships', owner('user_id').and(field('role').eq('admin')))
const ofAdministered = related('club', isAdmin)
/** Fields of every kind of column: the proposed row has all of them. */
const details = {
  note: text({ optional: true }),
  rank: integer({ default: 1 }),
  weight: number({ optional: true }),
  since: datetime({ optional: true }),
  extra: json({ optional: true }),
}
const clubs = checkModel(
  model({
    clubs: collection({ fields: { name: string() }, access: { read: anyone, create: signedIn } }),
    memberships: collection({
      updatedAt: true,
      fields: {
        club_id: relation('clubs', { inverse: 'memberships' }),
        user_id: relation('users', { inverse: 'memberships' }),
        role: choice(['admin', 'member'], { default: 'member' }),
        code: string({ optional: true, unique: true }),
        ...details,
      },
      indexes: [unique('club_id', 'user_id')],
      access: {
        read: owner('user_id'),
        create: ofAdministered,
        update: ofAdministered.or(owner('user_id').and(field('role').eq('member'))),
      },
    }),
    duties: collection({
      fields: { club_id: relation('clubs'), title: string() },
      indexes: [unique('club_id', 'title')],
      access: { read: nobody, create: related('club', isAdmin) },
    }),
    /** Its administrators give a club its first seat, which admits further ones. */
    seats: collection({
      fields: { club_id: relation('clubs', { inverse: 'seats' }), is_first: boolean() },
      access: {
        create: related('club', isAdmin)
          .and(field('is_first').eq(true))
          .or(related('club', related('seats', field('is_first').eq(true)))),
      },
    }),
    tickets: collection({
      fields: { code: string({ unique: true }) },
      access: { read: anyone, create: field('id').gte(1).and(field('id').lte(2)) },
    }),
    shifts: collection({
      fields: {
        club_id: relation('clubs'),
        title: string({ access: { write: related('club', isAdmin) } }),
        day: string({ unique: true }),
      },
      prepare: ({ next }) => ({ day: next.day.toLowerCase() }),
      access: { read: anyone, create: related('club', isAdmin), update: related('club', isAdmin) },
    }),
  }),
)

/** The members of a group add others. */
const isGroupMember = related('group', related('members', owner('id')))
const groups = checkModel(
  model({
    groups: collection({
      fields: { name: string() },
      relations: { members: manyToMany('users', { through: 'joins', from: 'group_id', to: 'user_id' }) },
      access: { read: anyone, create: nobody },
    }),
    joins: collection({
      fields: { group_id: relation('groups'), user_id: relation('users') },
      access: { read: anyone, create: isGroupMember, update: isGroupMember },
    }),
  }),
)

const selves = checkModel(
  model({ users: users({ access: { read: owner('id'), create: owner('id').or(role('admin')) } }) }),
)

const forbidden = { code: 'FORBIDDEN' }
const taken = { code: 'CONFLICT' }
const [ada, ben, zoe] = [1, 2, 3]

for (const { name, within } of databaseKinds) {
  /** Ada administers the first of two clubs; Zoe is a member of it; Ben has no membership. */
  const withClubs = (use: (as: (id: number) => Client, service: Client) => Promise<void>) =>
    within(async database => {
      const store = await database.open(clubs)
      try {
        const service = new Client(store, clubs, system)
        for (const who of ['ada', 'ben', 'zoe'])
          await service.create('users', { name: who, email: `${who}@example.com` })
        for (const club of ['first', 'second']) await service.create('clubs', { name: club })
        await service.create('memberships', { club_id: 1, user_id: ada, role: 'admin', code: 'a' })
        await service.create('memberships', { club_id: 1, user_id: zoe, role: 'member' })
        await use(id => new Client(store, clubs, user(id, 'user', 'all')), service)
      } finally {
        await store.close()
      }
    })

  test(`${name}: nobody joins a club by the membership that they create`, () =>
    withClubs(async as => {
      for (const club_id of [1, 2]) {
        await assert.rejects(
          as(ben).create('memberships', { club_id, user_id: ben, role: 'admin' }),
          forbidden,
        )
      }
      const extra = { note: 'é', rank: 7, weight: 1.5, since: '2026-01-01T00:00:00.000Z', extra: { a: [1] } }
      const { id } = await as(ada).create('memberships', {
        club_id: 1,
        user_id: ben,
        role: 'admin',
        ...extra,
      })
      assert.ok(id > 0)
    }))

  test(`${name}: a member does not become an administrator by the membership that they change`, () =>
    withClubs(async as => {
      await assert.rejects(as(zoe).update('memberships', 2, { role: 'admin' }), forbidden)
      await as(zoe).update('memberships', 2, { note: 'hello', rank: 2, extra: { b: null } })
      await as(ada).update('memberships', 1, { note: 'mine' })
    }))

  test(`${name}: a value that is taken is disclosed only to those who may write the item`, () =>
    withClubs(async (as, service) => {
      await assert.rejects(as(zoe).create('memberships', { club_id: 1, user_id: ada }), forbidden)
      await assert.rejects(as(zoe).create('memberships', { club_id: 1, user_id: ben, code: 'a' }), forbidden)
      await assert.rejects(
        as(zoe).update('memberships', 2, { club_id: 2, role: 'admin', code: 'a' }),
        forbidden,
      )
      await assert.rejects(as(ada).create('memberships', { club_id: 1, user_id: zoe }), taken)
      await service.create('shifts', { club_id: 1, title: 'early', day: 'Monday' })
      await service.create('shifts', { club_id: 2, title: 'late', day: 'tuesday' })
      await assert.rejects(as(ada).create('shifts', { club_id: 2, title: 'x', day: 'MONDAY' }), forbidden)
      for (const club_id of [1, 2]) await service.create('duties', { club_id, title: 'tea' })
      await assert.rejects(as(ada).create('duties', { club_id: 1, title: 'tea' }), taken)
      await assert.rejects(as(ada).create('duties', { club_id: 2, title: 'tea' }), forbidden)
      await assert.rejects(as(ada).update('shifts', 1, { club_id: 2, day: 'TUESDAY' }), forbidden)
      await assert.rejects(as(ada).update('shifts', 1, { day: 'TUESDAY' }), taken)
    }))

  test(`${name}: nobody joins a group by the join item that they write`, () =>
    within(async database => {
      const store = await database.open(groups)
      try {
        const service = new Client(store, groups, system)
        for (const who of ['ada', 'ben'])
          await service.create('users', { name: who, email: `${who}@example.com` })
        for (const group of ['first', 'second']) await service.create('groups', { name: group })
        await service.create('joins', { group_id: 1, user_id: ada })
        const as = (id: number) => new Client(store, groups, user(id, 'user', 'all'))
        await assert.rejects(as(ben).create('joins', { group_id: 1, user_id: ben }), forbidden)
        await assert.rejects(as(ada).create('joins', { group_id: 2, user_id: ada }), forbidden)
        const { id } = await as(ada).create('joins', { group_id: 1, user_id: ben })
        await assert.rejects(as(ben).update('joins', Number(id), { group_id: 2 }), forbidden)
      } finally {
        await store.close()
      }
    }))

  test(`${name}: of several items, each is checked among the earlier ones`, () =>
    withClubs(async as => {
      const client = as(ada)
      const createSeats = async (areFirst: readonly boolean[]) => {
        const writes = areFirst.map(is_first => client.creation('seats', { club_id: 1, is_first }))
        let failedIndex: number | undefined
        const onFailure = (index: number) => {
          failedIndex = index
        }
        await client
          .transaction(function* () {
            yield { kind: 'independentWrites', writes, onFailure }
          })
          .catch(error => assert.equal(error.code, 'FORBIDDEN'))
        return failedIndex
      }
      assert.equal(await createSeats([false, true]), 0)
      assert.equal(await createSeats([true, false, false]), undefined)
    }))

  test(`${name}: a rule about the id of a new item is checked once the id is known`, () =>
    withClubs(async as => {
      for (const code of ['a', 'b']) await as(zoe).create('tickets', { code })
      await assert.rejects(as(zoe).create('tickets', { code: 'c' }), forbidden)
    }))

  test(`${name}: nobody learns which addresses are taken by a rule that users are themselves`, () =>
    within(async place => {
      const store = await place.open(selves)
      try {
        const service = new Client(store, selves, system)
        for (const who of ['ada', 'ben'])
          await service.create('users', { name: who, email: `${who}@example.com` })
        const caller = user(ben, 'user', 'all')
        for (const email of ['ada@example.com', 'new@example.com']) {
          const { shape, args } = service.creation('users', { name: 'x', email })
          await assert.rejects(service.write({ shape: { ...shape, select: [] }, args }, caller), forbidden)
        }
      } finally {
        await store.close()
      }
    }))

  test(`${name}: a reference to a missing item is reported before that`, () =>
    withClubs(async as => {
      const missing = { code: 'VALIDATION_FAILED' }
      await assert.rejects(as(ada).create('memberships', { club_id: 99, user_id: ada }), missing)
      await assert.rejects(as(ada).update('memberships', 1, { club_id: 99 }), missing)
    }))
}
