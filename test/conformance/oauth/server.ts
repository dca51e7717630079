/** A service with people, apps and a browser: what the tests of the authorization server start from. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createBySystem, createKey } from '../../../src/auth/bootstrap.ts'
import type { GivenSettings } from '../../../src/config.ts'
import { checkModel } from '../../../src/model/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import { createGuard } from '../../../src/plan/guard.ts'
import { createRun } from '../../../src/serve/store.ts'
import { cheapHash } from '../../auth/cheap-hash.ts'
import blog from '../../models/blog.ts'
import { type Answer, type CallOptions, call } from '../../serve/service.ts'
import type { Place, Served, Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { Browser, type Departure, type Form, type Page } from './browser.ts'

export interface Person {
  readonly id: number
  readonly name: string
  readonly email: string
  readonly password: string
  readonly role: string
  /** An API key with every scope. */
  readonly key: string
}

export interface App {
  readonly id: number
  readonly client_id: string
  readonly client_secret: string
  readonly redirect_uris: readonly string[]
}

export interface Fixture {
  readonly url: string
  /** Of each node. */
  readonly urls: readonly string[]
  readonly place: Place
  readonly admin: Person
  readonly ann: Person
  readonly ben: Person
  /** An accountant. */
  readonly cleo: Person
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Registers an app of Ann's; what is not given is that of a confidential one. */
  app(values?: Readonly<Record<string, unknown>>): Promise<App>
  browser(): Browser
  /** Stops the service, every node of it, and starts it again on the same database and port. */
  restart(): Promise<void>
}

/** Nothing listens there: a redirect to it is looked at, not followed. */
export const redirectUri = 'http://127.0.0.1:9/callback'

const people = [
  ['Root', 'admin'],
  ['Ann', 'user'],
  ['Ben', 'user'],
  ['Cleo', 'accountant'],
] as const

/** The addresses of the first people have no number; those of `set` people more have theirs. */
async function seed(declaration: Declaration, place: Place, set = 0): Promise<readonly Person[]> {
  const model = checkModel(declaration)
  const store = await place.openStore(model)
  const run = createRun(createGuard(model), store)
  try {
    const made: Person[] = []
    for (const [name, role] of people) {
      const email = `${name.toLowerCase()}${set === 0 ? '' : set}@example.com`
      const password = `the password of ${name}`
      const id = await createBySystem(
        run,
        'users',
        { name, email, role },
        { password_hash: await cheapHash(password) },
      )
      const key = await createKey(run, id, { name: 'all', scopes: ['*'] })
      made.push({ id, name, email, password, role, key })
    }
    return made
  } finally {
    await store.close()
  }
}

async function createApp({ url, ann }: { url: string; ann: Person }, values: object): Promise<App> {
  const body = {
    name: 'Reader',
    type: 'confidential',
    redirect_uris: [redirectUri],
    scopes: ['openid', 'profile', 'email', 'offline_access', 'read:user', 'read:post', 'write:post'],
    default_scopes: ['read:post'],
    ...values,
  }
  const made = await call(`${url}/api/v1/oauth_apps`, { method: 'POST', key: ann.key, body })
  assert.equal(made.status, 201, made.text)
  return made.json as unknown as App
}

type WithFixture = (use: (fixture: Fixture) => Promise<void>) => Promise<void>

let usual: Setup = sqlite
/** Undefined where each test has a service of its own. */
let shared: SharedServices | undefined

/** Where the tests of this process run, unless they name a setup. Those with the same settings share a service. */
export function shareSetup(setup: Setup): void {
  const services = new SharedServices(setup)
  usual = setup
  shared = services
  after(() => services.close())
}

/**
 * Fixtures of one service, which is closed at the end of the suite: each test has people, apps and keys of its own.
 * Where a service is three processes, its start costs ten times what a test does.
 */
export function sharedFixtures(
  setup: Setup,
  given: GivenSettings = {},
  declaration: Declaration = blog,
): WithFixture {
  const service = new SharedService(setup, given, declaration)
  after(() => service.close())
  return use => service.withFixture(use)
}

/** Runs `use` with a service, four people and their keys; everything is closed and removed afterwards. */
export async function withFixture(
  given: GivenSettings,
  use: (fixture: Fixture) => Promise<void>,
  declaration: Declaration = blog,
  setup: Setup = usual,
): Promise<void> {
  if (shared && setup === usual && declaration === blog) return (await shared.of(given)).withFixture(use)
  const place = await setup.open()
  try {
    const people = await seed(declaration, place)
    const served = await place.serve(declaration, { rateLimit: 'off', ...given })
    try {
      await withPeople(place, served, people, use)
    } finally {
      await served.close()
    }
  } finally {
    await place.close()
  }
}

/** A service that several tests use, one after the other. */
class SharedService {
  readonly #setup: Setup
  readonly #given: GivenSettings
  readonly #declaration: Declaration
  #place: Place | undefined
  #served: Served | undefined
  /** How many tests have begun. */
  #tests = 0

  constructor(setup: Setup, given: GivenSettings, declaration: Declaration = blog) {
    this.#setup = setup
    this.#given = given
    this.#declaration = declaration
  }

  async withFixture(use: (fixture: Fixture) => Promise<void>): Promise<void> {
    this.#place ??= await this.#setup.open()
    const people = await seed(this.#declaration, this.#place, this.#tests++)
    this.#served ??= await this.#place.serve(this.#declaration, { rateLimit: 'off', ...this.#given })
    try {
      await withPeople(this.#place, this.#served, people, use)
    } catch (error) {
      // Nobody knows what a failed test has left behind.
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const [served, place] = [this.#served, this.#place]
    this.#served = undefined
    this.#place = undefined
    this.#tests = 0
    await served?.close()
    await place?.close()
  }
}

/** The service with default settings, and the last one with others: most settings are those of one test. */
class SharedServices {
  readonly #setup: Setup
  readonly #default: SharedService
  #other: { readonly given: GivenSettings; readonly service: SharedService } | undefined

  constructor(setup: Setup) {
    this.#setup = setup
    this.#default = new SharedService(setup, {})
  }

  async of(given: GivenSettings): Promise<SharedService> {
    if (Object.keys(given).length === 0) return this.#default
    if (this.#other !== undefined && isDeepStrictEqual(this.#other.given, given)) return this.#other.service
    await this.#other?.service.close()
    const service = new SharedService(this.#setup, given)
    this.#other = { given, service }
    return service
  }

  async close(): Promise<void> {
    await this.#default.close()
    await this.#other?.service.close()
  }
}

async function withPeople(
  place: Place,
  served: Served,
  [admin, ann, ben, cleo]: readonly Person[],
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  assert.ok(admin && ann && ben && cleo)
  const { url, urls } = served
  const browsers: Browser[] = []
  const fixture: Fixture = {
    url,
    urls,
    place,
    admin,
    ann,
    ben,
    cleo,
    call: (path, options) => call(url + path, options),
    app: (values = {}) => createApp({ url, ann }, values),
    browser: () => {
      const made = new Browser(url)
      browsers.push(made)
      return made
    },
    restart: () => served.restart(),
  }
  try {
    await use(fixture)
  } finally {
    for (const browser of browsers) browser.close()
  }
}

/** The page's form with such a field. */
export function formWith({ forms }: Page, type: string): Form | undefined {
  return forms.find(({ fields }) => fields.some(field => field.type === type))
}

const allowing = /\b(allow|approve|authori[sz]e|accept|yes)\b/i
const refusing = /\b(deny|refuse|cancel|decline|no)\b/i

/** The form by which a consent page is answered, with the button for it. */
export function consentOf(page: Page, answer: 'allow' | 'deny' = 'allow') {
  const wanted = answer === 'allow' ? allowing : refusing
  for (const form of page.forms) {
    const button = form.buttons.find(
      ({ label, value }) => (wanted.test(value) || wanted.test(label)) && !/^sign/i.test(label),
    )
    if (button) return { form, button }
  }
  return undefined
}

const MAX_PAGES = 6

/** Answers pages as `person` would who allows everything, until the browser leaves for the app. */
export async function untilDeparture(
  browser: Browser,
  first: Page | Departure,
  person: Pick<Person, 'email' | 'password'>,
): Promise<URL> {
  let page = first
  for (let count = 0; count < MAX_PAGES; count++) {
    if ('left' in page) return page.left
    const signIn = formWith(page, 'password')
    if (signIn) {
      page = await browser.submit(signIn, { email: person.email, password: person.password })
      continue
    }
    const consent = consentOf(page)
    assert.ok(consent, `${page.url.pathname} has nothing to answer: ${page.status} ${page.text}`)
    page = await browser.submit(consent.form, {}, consent.button)
  }
  throw new Error('the pages go on without end')
}

/** Signs in on the page that the address leads to, and answers nothing else; where that leads. */
export async function afterSignIn(
  browser: Browser,
  address: URL | string,
  { email, password }: Pick<Person, 'email' | 'password'>,
): Promise<Page | Departure> {
  const page = await browser.open(address)
  const form = 'left' in page ? undefined : formWith(page, 'password')
  assert.ok(form, 'a sign-in was expected')
  return browser.submit(form, { email, password })
}

/** Sends the person to the app's authorization address; where the browser ends up. */
export async function authorize(
  browser: Browser,
  address: URL | string,
  person: Pick<Person, 'email' | 'password'>,
): Promise<URL> {
  return untilDeparture(browser, await browser.open(address), person)
}

/** The address of an authorization request. */
export function authorizationUrl(url: string, parameters: Readonly<Record<string, string>>): URL {
  return new URL(`${url}/oauth/authorize?${new URLSearchParams(parameters)}`)
}

export interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** A form posted to one of the endpoints. */
export async function post(
  url: string,
  form: Readonly<Record<string, string>> | URLSearchParams | string,
  headers: Readonly<Record<string, string>> = {},
): Promise<TokenAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    redirect: 'manual',
  })
  const text = await response.text()
  let json = {}
  try {
    json = JSON.parse(text)
  } catch {
    // Not every answer is JSON.
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** A code for the app, from a person who allows everything. */
export async function newCode(
  fixture: Fixture,
  app: App,
  { browser, person, scope = 'read:post', ...rest }: CodeOptions,
): Promise<string> {
  const address = authorizationUrl(fixture.url, {
    response_type: 'code',
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0] ?? redirectUri,
    scope,
    state: 'a state',
    ...rest.parameters,
  })
  const left = await authorize(browser, address, person)
  const code = left.searchParams.get('code')
  assert.ok(code, left.href)
  return code
}

export interface CodeOptions {
  readonly browser: Browser
  readonly person: Person
  readonly scope?: string
  readonly parameters?: Readonly<Record<string, string>>
}

/** The app's own credentials, as parameters of a form. */
export function secretOf({ client_id, client_secret }: App) {
  return { client_id, client_secret }
}

/** Redeems a code by RFC 6749's request. */
export function redeem(url: string, app: App, code: string, more: Readonly<Record<string, string>> = {}) {
  return post(`${url}/oauth/token`, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: app.redirect_uris[0] ?? redirectUri,
    ...secretOf(app),
    ...more,
  })
}

/** Every token that the app gets from one code. */
export async function newTokens(
  fixture: Fixture,
  app: App,
  options: CodeOptions,
): Promise<Readonly<Record<string, string>>> {
  const answer = await redeem(fixture.url, app, await newCode(fixture, app, options))
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Readonly<Record<string, string>>
}
