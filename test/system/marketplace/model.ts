/**
 * A marketplace for courses: buyers book seats, a payment provider takes the money and tells it by webhooks, teachers get it.
 * The process can be ended between the transaction of a settlement and the success of its run: see `crashIfAsked`.
 */
import { unlinkSync } from 'node:fs'
import {
  action,
  anyone,
  boolean,
  choice,
  collection,
  field,
  integer,
  item,
  job,
  model,
  nobody,
  on,
  owner,
  relation,
  role,
  route,
  signedIn,
  string,
  unique,
  users,
} from '../../../src/index.ts'

const { MARKETPLACE_PROVIDER: provider = '', MARKETPLACE_CRASH: crashFile = '' } = process.env

/** The secret by which the provider signs. */
export const secret = 'whsec_of_the_marketplace'

function crashIfAsked(): void {
  try {
    unlinkSync(crashFile)
  } catch {
    return
  }
  process.kill(process.pid, 'SIGKILL')
}

const byAdministrators = { read: anyone, create: role('admin'), update: nobody, delete: nobody }
const byTheService = { read: role('admin'), create: nobody, update: nobody, delete: nobody }

/** Its seat is no longer taken. */
const released = ['declined', 'refunded'] as const

export default model(
  {
    users: users(),
    teachers: collection({
      fields: { name: string(), balance: integer({ default: 0, readOnly: true }) },
      access: byAdministrators,
    }),
    sessions: collection({
      fields: {
        teacher_id: relation('teachers', { inverse: 'sessions' }),
        cents: integer({ min: 1 }),
        capacity: integer({ min: 1 }),
        free: integer({ min: 0 }),
      },
      access: byAdministrators,
    }),
    orders: collection({
      fields: {
        session_id: relation('sessions', { inverse: 'orders' }),
        buyer_id: relation('users', { inverse: 'orders' }),
        cents: integer(),
        status: choice(['pending', 'paid', 'refunding', ...released], { default: 'pending' }),
      },
      access: { read: owner('buyer_id'), create: nobody, update: nobody, delete: nobody },
    }),
    payments: collection({
      fields: {
        order_id: relation('orders', { inverse: 'payments' }),
        event: string(),
        cents: integer({ description: 'Negative for a refund.' }),
        settled: boolean({ default: false }),
      },
      indexes: [unique('event')],
      access: byTheService,
    }),
    receipts: collection({
      fields: { order_id: relation('orders', { inverse: 'receipts' }) },
      indexes: [unique('order_id')],
      access: byTheService,
    }),
  },
  {
    jobs: {
      /** Credits payments to their teachers. */
      settle: job({
        async run({ data }) {
          await data.transaction(async data => {
            const payments = await data.payments.list({ where: { settled: false }, sort: ['id'], limit: 20 })
            for (const { id, order_id, cents } of payments) {
              const order = await data.orders.get(order_id)
              const session = order && (await data.sessions.get(order.session_id))
              if (!session) throw new Error(`The payment ${id} has no session.`)
              await data.teachers.update(session.teacher_id, { balance: { increment: cents } })
              await data.payments.update(id, { settled: true })
            }
          })
          crashIfAsked()
        },
      }),
    },
  },
  {
    actions: {
      book: action({
        on: 'sessions',
        output: item('orders'),
        access: signedIn,
        async run({ item: session, caller, data }) {
          await data.asSystem.sessions.update(session.id, { free: { increment: -1, min: 0 } })
          const order = { session_id: session.id, buyer_id: caller.id, cents: session.cents }
          return data.asSystem.orders.create(order)
        },
      }),
      cancel: action({
        on: 'orders',
        output: item('orders'),
        access: owner('buyer_id').and(field('status').in(['paid', 'refunding', 'refunded'])),
        run: ({ item: order, data }) =>
          order.status === 'paid'
            ? data.asSystem.orders.update(order.id, { status: 'refunding' })
            : data.asSystem.orders.get(order.id).then(found => found ?? order),
      }),
    },
    reactions: {
      /** The provider recognises a repeated request by the order. */
      charge: on('order.created', async ({ event, fetch }) => {
        const { cents } = event.data
        await ask(fetch, 'charges', { order: event.item_id, cents })
      }),
      refund: on('order.updated', async ({ event, fetch }) => {
        if (event.data.status === 'refunding') await ask(fetch, 'refunds', { order: event.item_id })
      }),
      receipt: on('order.updated', async ({ event, once }) => {
        if (event.data.status !== 'paid' || event.previous?.status === 'paid') return
        await once(data => data.receipts.create({ order_id: event.item_id }))
      }),
    },
    routes: {
      payments: route({
        access: anyone,
        async run({ request, verify, once }) {
          verify.stripe(request, { secret })
          const { id, type, data: told } = JSON.parse(request.text)
          const { order: orderId, cents } = told.object
          const { repeated } = await once(id, async ({ asSystem: data }, { later }) => {
            const order = await data.orders.get(orderId)
            if (order === null) throw new Error(`There is no order ${orderId}.`)
            const isOpen =
              order.status === 'pending' || order.status === 'paid' || order.status === 'refunding'
            const next = {
              'charge.succeeded': 'paid',
              'charge.failed': 'declined',
              'charge.refunded': 'refunded',
            } as const
            const status = next[type as keyof typeof next]
            // Events come in any order: a refund may come before its charge.
            const changes = status === 'paid' ? order.status === 'pending' : isOpen
            if (changes) await data.orders.update(order.id, { status })
            if (changes && status !== 'paid') {
              await data.sessions.update(order.session_id, { free: { increment: 1 } })
            }
            if (status === 'declined') return
            const sign = status === 'refunded' ? -1 : 1
            await data.payments.create({ order_id: order.id, event: id, cents: sign * cents })
            later(new Date(), 'settle')
          })
          return { body: { repeated } }
        },
      }),
    },
  },
)

type Send = (url: string, options: { method: 'POST'; body: string }) => Promise<Response>

async function ask(fetch: Send, what: 'charges' | 'refunds', body: object): Promise<void> {
  const answer = await fetch(`${provider}/${what}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`The provider answered ${answer.status}.`)
}
