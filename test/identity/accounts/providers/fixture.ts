/** A service whose providers respond in memory, and browsers that sign in with them. */
import assert from 'node:assert/strict'
import { system } from '../../../../src/base/principal.ts'
import { updateShape } from '../../../../src/engine/plan/system-plans.ts'
import { createAddresses } from '../../../../src/identity/accounts/addresses/addresses.ts'
import { findByEmail, type UserRow } from '../../../../src/identity/accounts/users.ts'
import { createBySystem, createKey } from '../../../../src/identity/bootstrap.ts'
import type { MailMessage } from '../../../../src/identity/mail/mail.ts'
import { hashPassword } from '../../../../src/identity/password.ts'
import { checkModel } from '../../../../src/model/check/check.ts'
import type { Declaration } from '../../../../src/model/declaration.ts'
import { type GivenSettings, readSettings } from '../../../../src/server/config/config.ts'
import { createLog } from '../../../../src/server/observability/log.ts'
import { open as openService } from '../../../../src/server/serve/serve.ts'
import type { OpenService } from '../../../../src/server/serve/service.ts'
import { SteppedClock } from '../../../../src/tools/testing/clock.ts'
import blog from '../../../models/blog.ts'
import { Browser, type Departure, type Form, type Page } from '../../conformance/browser.ts'
import { Providers, providers, type ResponseChanges } from './stub.ts'

const setDisabled = updateShape('users', ['disabled'])

export const password = 'correct horse battery'

type Values = Readonly<Record<string, unknown>>

/** Each visitor has its own IP address, because attempts are counted by address. */
export class Visitor extends Browser {
  readonly #address: string
  /** The value of `Accept-Language`. */
  languages = 'en'

  constructor(origin: string, address: string) {
    super(origin)
    this.#address = address
  }

  override send(url: URL, sent: Parameters<Browser['send']>[1] = {}) {
    const headers = { 'Accept-Language': this.languages, 'X-Forwarded-For': this.#address }
    return super.send(url, { ...sent, headers: { ...sent.headers, ...headers } })
  }
}

export interface UserOptions {
  readonly confirmed?: boolean
  readonly signedUp?: boolean
  readonly password?: boolean
}

export interface Fixture {
  readonly opened: OpenService
  readonly url: string
  readonly providers: Providers
  readonly mails: MailMessage[]
  /** The clock by which stored sign-ins expire. */
  readonly clock: SteppedClock
  browser(): Visitor
  /** An unused address. */
  email(): string
  user(email: string, options?: UserOptions): Promise<number>
  key(userId: number): Promise<string>
  /** Disables the account, as an administrator does. */
  disable(email: string): Promise<void>
  /** The account with this address. */
  find(email: string): Promise<UserRow | undefined>
  close(): Promise<void>
}

let hashed: Promise<string> | undefined

/** `sends`: requests to providers leave the process. */
export async function openFixture(
  overrides: GivenSettings = {},
  declaration: Declaration = blog,
  sends = false,
): Promise<Fixture> {
  const stub = new Providers()
  const mails: MailMessage[] = []
  const clock = new SteppedClock(new Date())
  const settings = readSettings({
    given: {
      ...{ port: 0, host: '127.0.0.1', logLevel: 'silent', rateLimit: 'off', trustProxy: 1 },
      ...{ 'accounts.providers': providers, secretKeys: ['the-key-of-tests-of-sign-in-with-others'] },
      ...overrides,
    },
  })
  const opened = await openService(
    checkModel(declaration),
    { ...settings, database: ':memory:' },
    createLog(settings),
    {
      background: false,
      ...(!sends && { sendToProviders: stub.send }),
      simulation: {
        clock,
        mail: { delivers: true, send: async message => void mails.push(message) },
      },
    },
  )
  const { url } = opened.service
  const browsers: Browser[] = []
  let count = 0
  const addresses = createAddresses(opened.records)
  return {
    ...{ opened, url, mails, clock, providers: stub },
    browser() {
      const browser = new Visitor(url, `192.0.${browsers.length >> 8}.${browsers.length & 255}`)
      browsers.push(browser)
      return browser
    },
    email: () => `person${++count}@example.com`,
    async user(email, { confirmed = true, signedUp = true, password: has = true } = {}) {
      hashed ??= hashPassword(password)
      const computed = has ? { password_hash: await hashed } : {}
      const id = await createBySystem(opened.run, 'users', { name: 'Ada', email }, computed)
      if (signedUp) await opened.records.put(addresses.signedUpRecord(id, email, confirmed))
      else if (confirmed) await addresses.confirm(id, email)
      return id
    },
    key: userId => createKey(opened.run, userId, { name: 'a key', scopes: ['*'] }),
    async disable(email) {
      const user = await findByEmail(opened.run, email)
      await opened.run.write({ shape: setDisabled, args: [user?.id ?? 0, true] }, system)
    },
    find: email => findByEmail(opened.run, email),
    async close() {
      for (const browser of browsers) browser.close()
      await opened.service.close()
    },
  }
}

export function page(answer: Page | Departure): Page {
  assert.ok('text' in answer, `left for ${'location' in answer ? answer.location.href : ''}`)
  return answer
}

export function redirectOf(answer: Page | Departure): URL {
  assert.ok(
    'location' in answer,
    'text' in answer ? `${answer.url.pathname} ${answer.status}: ${textOf(answer)}` : '',
  )
  return answer.location
}

/** The text that a person reads. */
export function textOf({ text }: Pick<Page, 'text'>): string {
  const main = /<main[^>]*>([\s\S]*)<\/main>/.exec(text)?.[1] ?? text
  return main
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

export function formTo({ forms, text }: Page, path: string): Form {
  const found = forms.find(({ action }) => action.pathname === path)
  assert.ok(found, `no form to ${path}: ${textOf({ text })}`)
  return found
}

export function formWithField({ forms, text }: Page, name: string, value?: string): Form {
  const found = forms.find(({ fields }) =>
    fields.some(field => field.name === name && (value === undefined || field.value === value)),
  )
  assert.ok(found, `no form with ${name}: ${textOf({ text })}`)
  return found
}

/** The URL to which the service sends a browser that chooses the provider. */
export async function startSignIn(
  browser: Browser,
  provider: string,
  from = '/account/sign-in',
): Promise<URL> {
  const shown = page(await browser.open(from))
  return redirectOf(await browser.submit(formTo(shown, `/account/sign-in/${provider}`)))
}

/** Completes a sign-in, and returns the page that the browser shows afterwards. */
export async function signIn(
  { providers: stub }: Fixture,
  browser: Browser,
  provider: string,
  claims: Values,
  tweaks: ResponseChanges = {},
): Promise<Page> {
  return page(await browser.open(stub.authorize(await startSignIn(browser, provider), claims, tweaks)))
}

export async function signInByPassword(browser: Browser, email: string): Promise<Page> {
  const form = formWithField(page(await browser.open('/account/sign-in')), 'password')
  return page(await browser.submit(form, { email, password }))
}

/** The newest match in a mail to the address; mails are sent after the response. */
export async function mailedLink({ mails }: Fixture, email: string, pattern: RegExp): Promise<string> {
  for (let count = 0; count < 200; count++) {
    const links = mails.filter(({ to }) => to === email).map(({ text }) => pattern.exec(text)?.[0])
    const newest = links.findLast(link => link !== undefined)
    if (newest !== undefined) return newest
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.fail(`no mail to ${email} has ${pattern}`)
}

/** The address of the signed-in user; undefined if there is none. */
export async function signedInEmail(browser: Browser): Promise<string | undefined> {
  const headers = { Accept: 'application/json', 'Sec-Fetch-Site': 'same-origin' }
  const { text } = await browser.send(new URL('/account', browser.origin), { headers })
  return JSON.parse(text).user?.email
}
