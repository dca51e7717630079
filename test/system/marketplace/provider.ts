/**
 * A payment provider, in a process of its own, with a ledger that the marketplace does not see: it charges and refunds each
 * order once, and tells each event three times, in any order, until it is taken. Its address is the only line of its output.
 */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Stripe from 'stripe'
import { seed, seeded } from '../../cases.ts'

export interface Ledger {
  /** By order: what the provider keeps of it, in cents. */
  readonly cents: Readonly<Record<string, number>>
  /** Charges that succeeded, and refunds. */
  readonly movements: number
  readonly undelivered: number
}

interface Charge {
  readonly cents: number
  readonly isDeclined: boolean
  isRefunded: boolean
}

const copies = 3
const secret = 'whsec_of_the_marketplace'
const random = seeded(seed)
const charges = new Map<number, Charge>()
let target = ''
let events = 0
let undelivered = 0

async function deliver(payload: string): Promise<void> {
  await sleep(random() * 300)
  for (;;) {
    const signature = Stripe.webhooks.generateTestHeaderString({ payload, secret })
    const answer = await fetch(target, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Stripe-Signature': signature },
      body: payload,
    }).catch(() => undefined)
    await answer?.arrayBuffer().catch(() => undefined)
    if (answer?.ok) break
    await sleep(50 + random() * 100)
  }
  undelivered--
}

function tell(type: string, order: number, cents: number): void {
  const payload = JSON.stringify({ id: `evt_${++events}`, type, data: { object: { order, cents } } })
  undelivered += copies
  for (let copy = 0; copy < copies; copy++) void deliver(payload)
}

function charge(order: number, cents: number): void {
  if (charges.has(order)) return
  const isDeclined = order % 7 === 0
  charges.set(order, { cents, isDeclined, isRefunded: false })
  tell(isDeclined ? 'charge.failed' : 'charge.succeeded', order, cents)
}

function refund(order: number): void {
  const found = charges.get(order)
  if (found === undefined || found.isDeclined) throw new Error(`nothing to refund for ${order}`)
  if (found.isRefunded) return
  found.isRefunded = true
  tell('charge.refunded', order, found.cents)
}

function ledger(): Ledger {
  const kept = [...charges].map(([order, { cents, isDeclined, isRefunded }]) => [
    order,
    isDeclined || isRefunded ? 0 : cents,
  ])
  const movements = [...charges.values()].reduce(
    (sum, { isDeclined, isRefunded }) => sum + Number(!isDeclined) + Number(isRefunded),
    0,
  )
  return { cents: Object.fromEntries(kept), movements, undelivered }
}

async function bodyOf(request: IncomingMessage) {
  let text = ''
  for await (const chunk of request) text += chunk
  return text === '' ? {} : JSON.parse(text)
}

const server = createServer(async (request, response) => {
  try {
    const body = await bodyOf(request)
    if (request.url === '/target') target = body.url
    if (request.url === '/charges') charge(body.order, body.cents)
    if (request.url === '/refunds') refund(body.order)
    response.end(JSON.stringify(ledger()))
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('disconnect', () => process.exit())
