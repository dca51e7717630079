/** Accounts, and an action that transfers amounts between them with several reads and writes. */
import {
  action,
  boolean,
  collection,
  integer,
  item,
  model,
  relation,
  signedIn,
  text,
  users,
} from '../../../../src/index.ts'

export const firstBalance = 1_000_000

export default model(
  {
    users: users({}),
    accounts: collection({
      fields: {
        name: text(),
        balance: integer({ default: firstBalance, min: 0 }),
        moves: integer({ default: 0 }),
      },
      access: { read: signedIn, create: signedIn, update: signedIn },
    }),
    entries: collection({
      fields: {
        // Not unique, so that a duplicate effect is visible.
        mark: text(),
        amount: integer(),
        from_id: relation('accounts', { inverse: 'outgoing' }),
        to_id: relation('accounts', { inverse: 'incoming' }),
      },
      access: { read: signedIn, create: signedIn },
    }),
  },
  {
    actions: {
      transfer: action({
        of: 'accounts',
        input: {
          from: item('accounts'),
          to: item('accounts'),
          amount: integer({ min: 1 }),
          mark: text(),
          fails: boolean({ default: false }),
        },
        output: { left: integer() },
        access: signedIn,
        emits: { 'account.moved': { fields: { mark: text(), amount: integer() } } },
        async run({ input, data, emit }) {
          const { amount, mark } = input
          const from = await data.accounts.get(input.from.id)
          const to = await data.accounts.get(input.to.id)
          if (from === null || to === null) throw new Error('an account is missing')
          const balance = from.balance - amount
          const paid = await data.accounts.update(from.id, { balance, moves: from.moves + 1 })
          await data.accounts.update(to.id, { balance: { increment: amount }, moves: { increment: 1 } })
          await data.entries.create({ mark, amount, from_id: from.id, to_id: to.id })
          const [written, sender] = [await data.entries.count({ mark }), await data.accounts.get(from.id)]
          await emit('account.moved', paid, { mark, amount })
          if (input.fails || sender?.balance !== balance || written === 0)
            throw new Error('the transfer fails')
          return { left: balance }
        },
      }),
    },
  },
)
