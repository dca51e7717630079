/** Lists of one item's own items, under a rule along relations, whose set of ids a plan shows like a set of keys. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collection, model, owner, related, relation, signedIn, string } from '../../../../src/index.ts'
import { testService } from '../../../../src/testing.ts'

const access = { read: signedIn }
const isMember = related('members', owner('user_id'))

const desk = model({
  companies: collection({ fields: { name: string() }, access }),
  members: collection({
    fields: {
      company_id: relation('companies', { inverse: 'members' }),
      user_id: relation('users', { inverse: 'members' }),
    },
    access,
  }),
  tickets: collection({ fields: { company_id: relation('companies', { inverse: 'tickets' }) }, access }),
  messages: collection({
    fields: { ticket_id: relation('tickets', { inverse: 'messages' }), body: string({ default: 'x' }) },
    access: { read: related('ticket', related('company', isMember)) },
  }),
})

const ticketCount = 100
const messagesPerTicket = 5
/** More than the tickets and one ticket's messages, and less than all messages. */
const maxScan = 300

test('the messages of one ticket are no large scan, although the rule finds the tickets of a company first', async () => {
  const service = await testService(desk, { settings: { maxScan } })
  const ann = await service.users.create({ name: 'Ann' })
  const { companies, members, tickets, messages } = service.asSystem
  const company = await companies.create({ name: 'Ours' })
  await members.create({ company_id: company.id, user_id: ann.id })
  for (let count = 0; count < ticketCount; count++) {
    const ticket = await tickets.create({ company_id: company.id })
    for (let count = 0; count < messagesPerTicket; count++) await messages.create({ ticket_id: ticket.id })
  }
  const paths = ['/tickets/7/messages', '/messages?ticket_id=7', '/tickets/7?include=messages']
  for (const path of paths) {
    const { status, text } = await service.request(`GET /api/v1${path}`, { as: ann })
    assert.equal(status, 200, text)
    assert.equal(text.match(/"ticket_id":7/g)?.length, messagesPerTicket)
  }
  // The rule finds the tickets once, not again for each ticket of the page.
  const page = await service.request('GET /api/v1/tickets?include=messages', { as: ann })
  assert.equal(page.status, 200, page.text)
  assert.equal(page.text.match(/"ticket_id"/g)?.length, 20 * messagesPerTicket)
  const all = await service.request('GET /api/v1/messages?sort=body', { as: ann })
  assert.equal(all.body.error.code, 'SCAN_TOO_LARGE')
  await service.close()
})
