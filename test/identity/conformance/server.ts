/** A service with four users, an app and browsers: the fixture of the tests of the authorization server. */
import assert from 'node:assert/strict'
import { after } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { createGuard } from '../../../src/engine/plan/guard/guard.ts'
import type { Run } from '../../../src/engine/plan/run.ts'
import type { Store } from '../../../src/engine/store/store.ts'
import { createBySystem, createKey } from '../../../src/identity/bootstrap.ts'
import { checkModel } from '../../../src/model/check/check.ts'
import type { Declaration } from '../../../src/model/declaration.ts'
import type { GivenSettings } from '../../../src/server/config/config.ts'
import { createRun } from '../../../src/server/serve/store.ts'
import blog from '../../models/blog.ts'
import { type Answer, type CallOptions, call } from '../../server/serve/service.ts'
import type { Deployment, ServiceUnderTest, Setup } from '../../setups/setup.ts'
import { sqlite } from '../../setups/sqlite.ts'
import { cheapHash } from '../cheap-hash.ts'
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
  /** One for each node. */
  readonly urls: readonly string[]
  readonly deployment: Deployment
  readonly admin: Person
  readonly ann: Person
  readonly ben: Person
  /** Has the role of an accountant. */
  readonly cleo: Person
  call(path: string, options?: CallOptions): Promise<Answer>
  /** Creates an app of Ann’s, by default a confidential one. */
  app(values?: Readonly<Record<string, unknown>>): Promise<App>
  browser(): Browser
  /** Stops every node of the service, and starts it again on the same database and port. */
  restart(): Promise<void>
}

/** Nothing listens here: redirects to it are not followed. */
export const redirectUri = 'http://127.0.0.1:9/callback'

const people = [
  ['Root', 'admin'],
  ['Ann', 'user'],
  ['Ben', 'user'],
  ['Cleo', 'accountant'],
] as const

/** Creates four users; from the second set on, their addresses have the number of the set. */
async function seed(declaration: Declaration, deployment: Deployment, set = 0): Promise<readonly Person[]> {
  const model = checkModel(declaration)
  const store = await deployment.openStore(model)
  const run = createRun(createGuard(model), store)
  try {
    const created: Person[] = []
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
      created.push({ id, name, email, password, role, key })
    }
    return created
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
  const created = await call(`${url}/api/v1/oauth_apps`, { method: 'POST', key: ann.key, body })
  assert.equal(created.status, 201, created.text)
  return created.json as unknown as App
}

type WithFixture = (use: (fixture: Fixture) => Promise<void>) => Promise<void>

let defaultSetup: Setup = sqlite
/** Undefined if each test has its own service. */
let shared: SharedServices | undefined

/** Runs the tests of this process on the setup unless they name one. Tests with the same settings share a service. */
export function shareSetup(setup: Setup): void {
  const services = new SharedServices(setup)
  defaultSetup = setup
  shared = services
  after(() => services.close())
}

/**
 * Fixtures of one service that is closed at the end of the suite; each test has its own users, apps and keys.
 * Starting a service of three processes takes ten times as long as a test.
 */
export function sharedFixtures(
  setup: Setup,
  settings: GivenSettings = {},
  declaration: Declaration = blog,
): WithFixture {
  const service = new SharedService(setup, settings, declaration)
  after(() => service.close())
  return use => service.withFixture(use)
}

/** Runs `use` with a service, four users and their keys; closes and removes everything afterwards. */
export async function withFixture(
  settings: GivenSettings,
  use: (fixture: Fixture) => Promise<void>,
  declaration: Declaration = blog,
  setup: Setup = defaultSetup,
): Promise<void> {
  if (shared && setup === defaultSetup && declaration === blog)
    return (await shared.withSettings(settings)).withFixture(use)
  const deployment = await setup.open()
  try {
    const people = await seed(declaration, deployment)
    const service = await deployment.serve(declaration, { rateLimit: 'off', ...settings })
    try {
      await withPeople(deployment, service, people, use)
    } finally {
      await service.close()
    }
  } finally {
    await deployment.close()
  }
}

/** A service that tests use one after the other. */
class SharedService {
  readonly #setup: Setup
  readonly #settings: GivenSettings
  readonly #declaration: Declaration
  #deployment: Deployment | undefined
  #service: ServiceUnderTest | undefined
  /** The number of tests so far. */
  #tests = 0

  constructor(setup: Setup, settings: GivenSettings, declaration: Declaration = blog) {
    this.#setup = setup
    this.#settings = settings
    this.#declaration = declaration
  }

  async withFixture(use: (fixture: Fixture) => Promise<void>): Promise<void> {
    this.#deployment ??= await this.#setup.open()
    const people = await seed(this.#declaration, this.#deployment, this.#tests++)
    this.#service ??= await this.#deployment.serve(this.#declaration, { rateLimit: 'off', ...this.#settings })
    try {
      await withPeople(this.#deployment, this.#service, people, use)
    } catch (error) {
      // A failed test may leave any state behind.
      await this.close()
      throw error
    }
  }

  async close(): Promise<void> {
    const [service, deployment] = [this.#service, this.#deployment]
    this.#service = undefined
    this.#deployment = undefined
    this.#tests = 0
    await service?.close()
    await deployment?.close()
  }
}

/** The service with default settings, and the latest one with others, since most settings are used by one test only. */
class SharedServices {
  readonly #setup: Setup
  readonly #default: SharedService
  #other: { readonly settings: GivenSettings; readonly service: SharedService } | undefined

  constructor(setup: Setup) {
    this.#setup = setup
    this.#default = new SharedService(setup, {})
  }

  async withSettings(settings: GivenSettings): Promise<SharedService> {
    if (Object.keys(settings).length === 0) return this.#default
    if (this.#other !== undefined && isDeepStrictEqual(this.#other.settings, settings))
      return this.#other.service
    await this.#other?.service.close()
    const service = new SharedService(this.#setup, settings)
    this.#other = { settings, service }
    return service
  }

  async close(): Promise<void> {
    await this.#default.close()
    await this.#other?.service.close()
  }
}

async function withPeople(
  deployment: Deployment,
  service: ServiceUnderTest,
  [admin, ann, ben, cleo]: readonly Person[],
  use: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  assert.ok(admin && ann && ben && cleo)
  const { url, urls } = service
  const browsers: Browser[] = []
  const fixture: Fixture = {
    url,
    urls,
    deployment,
    admin,
    ann,
    ben,
    cleo,
    call: (path, options) => call(url + path, options),
    app: (values = {}) => createApp({ url, ann }, values),
    browser: () => {
      const browser = new Browser(url)
      browsers.push(browser)
      return browser
    },
    restart: () => service.restart(),
  }
  try {
    await use(fixture)
  } finally {
    for (const browser of browsers) browser.close()
  }
}

/** Runs `use` on the fixture's database, as another process would. */
export async function inOtherProcess<T>(
  { deployment }: Pick<Fixture, 'deployment'>,
  use: (run: Run, store: Store) => Promise<T>,
): Promise<T> {
  const model = checkModel(blog)
  const store = await deployment.openStore(model)
  try {
    return await use(createRun(createGuard(model), store), store)
  } finally {
    await store.close()
  }
}

/** The page’s form with a field of this type. */
export function formWith({ forms }: Page, type: string): Form | undefined {
  return forms.find(({ fields }) => fields.some(field => field.type === type))
}

const allowLabel = /\b(allow|approve|authori[sz]e|accept|yes)\b/i
const denyLabel = /\b(deny|refuse|cancel|decline|no)\b/i

/** The form that answers a consent page, with its button. */
export function consentOf(page: Page, answer: 'allow' | 'deny' = 'allow') {
  const expected = answer === 'allow' ? allowLabel : denyLabel
  for (const form of page.forms) {
    const button = form.buttons.find(
      ({ label, value }) => (expected.test(value) || expected.test(label)) && !/^sign/i.test(label),
    )
    if (button) return { form, button }
  }
  return undefined
}

const maxPages = 6

/** Submits the pages as a person who allows everything, until the browser leaves for the app. */
export async function untilDeparture(
  browser: Browser,
  first: Page | Departure,
  person: Pick<Person, 'email' | 'password'>,
): Promise<URL> {
  let page = first
  for (let count = 0; count < maxPages; count++) {
    if ('location' in page) return page.location
    const signIn = formWith(page, 'password')
    if (signIn) {
      page = await browser.submit(signIn, { email: person.email, password: person.password })
      continue
    }
    const consent = consentOf(page)
    assert.ok(consent, `${page.url.pathname} has nothing to answer: ${page.status} ${page.text}`)
    page = await browser.submit(consent.form, {}, consent.button)
  }
  throw new Error('the pages do not end')
}

/** Signs in on the page at the address, and returns what follows. */
export async function afterSignIn(
  browser: Browser,
  address: URL | string,
  { email, password }: Pick<Person, 'email' | 'password'>,
): Promise<Page | Departure> {
  const page = await browser.open(address)
  const form = 'location' in page ? undefined : formWith(page, 'password')
  assert.ok(form, 'a sign-in was expected')
  return browser.submit(form, { email, password })
}

/** Opens the authorization address as the person; returns the URL at the app. */
export async function authorize(
  browser: Browser,
  address: URL | string,
  person: Pick<Person, 'email' | 'password'>,
): Promise<URL> {
  return untilDeparture(browser, await browser.open(address), person)
}

/** The URL of an authorization request. */
export function authorizationUrl(url: string, parameters: Readonly<Record<string, string>>): URL {
  return new URL(`${url}/oauth/authorize?${new URLSearchParams(parameters)}`)
}

export interface TokenAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Readonly<Record<string, unknown>>
}

/** Posts a form to one of the endpoints. */
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
    // Not every response is JSON.
  }
  return { status: response.status, headers: response.headers, text, json }
}

/** Gets a code for the app, as a person who allows everything. */
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
  const callbackUrl = await authorize(browser, address, person)
  const code = callbackUrl.searchParams.get('code')
  assert.ok(code, callbackUrl.href)
  return code
}

export interface CodeOptions {
  readonly browser: Browser
  readonly person: Person
  readonly scope?: string
  readonly parameters?: Readonly<Record<string, string>>
}

/** The app’s client credentials, as parameters of a form. */
export function clientCredentials({ client_id, client_secret }: App) {
  return { client_id, client_secret }
}

/** Exchanges a code with the request of RFC 6749. */
export function exchangeCode(
  url: string,
  app: App,
  code: string,
  more: Readonly<Record<string, string>> = {},
) {
  return post(`${url}/oauth/token`, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: app.redirect_uris[0] ?? redirectUri,
    ...clientCredentials(app),
    ...more,
  })
}

/** Gets a code, and returns all the tokens of its exchange. */
export async function newTokens(
  fixture: Fixture,
  app: App,
  options: CodeOptions,
): Promise<Readonly<Record<string, string>>> {
  const answer = await exchangeCode(fixture.url, app, await newCode(fixture, app, options))
  assert.equal(answer.status, 200, answer.text)
  return answer.json as Readonly<Record<string, string>>
}
