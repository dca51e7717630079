/** W9: code exchange, refresh with rotation and introspection, compared with oidc-provider in memory; reads with tokens. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Browser } from '../../test/identity/conformance/browser.ts'
import { authorizationUrl, authorize, post } from '../../test/identity/conformance/server.ts'
import { copyOf, type DataSet } from '../data-set/data.ts'
import { randomNumbers } from '../data-set/posts.ts'
import { requestsPerSecond } from '../load/load.ts'
import { type Running, startBaseline, startPortico, startServer } from '../servers/server.ts'
import { median, type Sampling } from '../workloads/measure.ts'

export interface OauthMeasurement {
  readonly work: string
  readonly server: 'Portico' | 'oidc-provider in memory'
  /** Requests per second relative to the bare server, by round. */
  readonly ratios: readonly number[]
  readonly perSecond: readonly number[]
  readonly floor: number | undefined
}

interface Client {
  readonly client_id: string
  readonly client_secret: string
}

/** A server whose token endpoint is measured. */
interface TokenServer {
  readonly origin: string
  readonly tokenPath: string
  readonly introspectionPath: string
  readonly client: Client
  codes(count: number): Promise<readonly string[]>
  /** Returns a code that also yields a refresh token: the user consents each time. */
  lastingCode(): Promise<string>
  readonly redirectUri: string
}

const clients = 32
const seconds = 1
/** More than any server exchanges within the measurement. */
const codeCount = 16_000
const redirectUri = 'https://app.example.com/callback'
const scope = 'read:post'
const lastingScope = 'offline_access read:post'
const person = { email: 'admin@example.com', password: 'not a secret, only a bench' }

const postScript = (path: string, bodies: string, next: string): string => `
wrk.method = 'POST'
wrk.headers['Content-Type'] = 'application/x-www-form-urlencoded'
local bodies = {${bodies}}
local first, last = 1, #bodies
function request()
  if first > last then first = 1 end
  local body = bodies[first]
  first = first + 1
  return wrk.format(nil, '${path}', nil, body)
end
${next}`

const quoted = (texts: readonly string[]) => texts.map(text => `[==[${text}]==]`).join(',')

/** Each returned refresh token is sent next. */
const follow = (form: string) => `
function response(status, headers, body)
  local token = body:match('"refresh_token":"([^"]+)"')
  if token then last = last + 1; bodies[last] = '${form}' .. token end
end`

/** Measures requests per second with wrk and a script. Throws if one was refused. */
function perSecondOf(origin: string, script: string): number {
  const folder = mkdtempSync(join(tmpdir(), 'portico-load-'))
  try {
    const file = join(folder, 'load.lua')
    writeFileSync(file, script)
    const { stdout } = spawnSync('wrk', ['-t1', `-c${clients}`, `-d${seconds}s`, '-s', file, origin], {
      encoding: 'utf8',
    })
    const [, refused] = /Non-2xx or 3xx responses: (\d+)/.exec(stdout) ?? []
    if (refused !== undefined) throw new Error(`${refused} token requests were refused:\n${stdout}`)
    return Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const form = (values: Readonly<Record<string, string>>) => new URLSearchParams(values).toString()

function exchangeForm({ client, redirectUri: redirect_uri }: TokenServer, code: string): string {
  return form({ grant_type: 'authorization_code', ...client, redirect_uri, code })
}

async function tokensOf(
  server: TokenServer,
  count: number,
): Promise<readonly Readonly<Record<string, string>>[]> {
  const responses: Readonly<Record<string, string>>[] = []
  while (responses.length < count) {
    const form = exchangeForm(server, await server.lastingCode())
    const { status, text, json } = await post(server.origin + server.tokenPath, form)
    if (status !== 200) throw new Error(`A code was refused: ${text}`)
    responses.push(json as Readonly<Record<string, string>>)
  }
  return responses
}

type Work = (server: TokenServer) => Promise<string>

const works: readonly { readonly work: string; readonly floor: number; readonly script: Work }[] = [
  {
    work: 'code exchange, without a refresh token',
    floor: 0.03,
    script: async server => {
      const bodies = (await server.codes(codeCount)).map(code => exchangeForm(server, code))
      return postScript(server.tokenPath, quoted(bodies), '')
    },
  },
  {
    work: 'refresh with rotation',
    floor: 0.03,
    script: async server => {
      const begin = `${form({ grant_type: 'refresh_token', ...server.client })}&refresh_token=`
      const bodies = (await tokensOf(server, clients * 2)).map(tokens => begin + tokens.refresh_token)
      return postScript(server.tokenPath, quoted(bodies), follow(begin))
    },
  },
  {
    work: 'introspection',
    floor: 0.09,
    script: async server => {
      const tokens = await tokensOf(server, clients)
      const bodies = tokens.map(({ access_token: token = '' }) => form({ token, ...server.client }))
      return postScript(server.introspectionPath, quoted(bodies), '')
    },
  },
]

async function seeded(running: Running): Promise<TokenServer> {
  const seed = async (query: string) =>
    (await (await fetch(`${running.origin}/seed?${query}`, { method: 'POST' })).json()) as {
      codes: string[]
      clientId: string
      clientSecret: string
      redirectUri: string
    }
  const { clientId, clientSecret, redirectUri: registered } = await seed('n=0')
  return {
    origin: running.origin,
    tokenPath: '/token',
    introspectionPath: '/token/introspection',
    client: { client_id: clientId, client_secret: clientSecret },
    redirectUri: registered,
    codes: async count => (await seed(`n=${count}`)).codes,
    lastingCode: async () => (await seed('n=1&lasting=1')).codes[0] ?? '',
  }
}

async function newClient({ origin }: Running, key: string, format: 'opaque' | 'jwt'): Promise<Client> {
  const response = await fetch(`${origin}/api/v1/oauth_apps`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({
      name: 'Bench',
      type: 'confidential',
      redirect_uris: [redirectUri],
      scopes: lastingScope.split(' '),
      access_token_format: format,
    }),
  })
  const { client_id, client_secret } = (await response.json()) as Client
  return { client_id, client_secret }
}

/** Obtains codes as apps do: with a browser that is signed in and has consented. */
async function issuing(
  running: Running,
  key: string,
  format: 'opaque' | 'jwt' = 'opaque',
): Promise<TokenServer> {
  const client = await newClient(running, key, format)
  const browser = new Browser(running.origin)
  const address = authorizationUrl(running.origin, {
    response_type: 'code',
    client_id: client.client_id,
    redirect_uri: redirectUri,
    scope,
    state: 's',
  })
  const lasting = new URL(address)
  lasting.searchParams.set('scope', lastingScope)
  const lastingCode = async () => (await authorize(browser, lasting, person)).searchParams.get('code') ?? ''
  await lastingCode()
  const code = async () => {
    const { headers, text } = await browser.send(address)
    const code = new URL(headers.location ?? 'none:').searchParams.get('code')
    if (code === null) throw new Error(`No code came back: ${headers.location} ${text}`)
    return code
  }
  return {
    origin: running.origin,
    tokenPath: '/oauth/token',
    introspectionPath: '/oauth/introspect',
    client,
    redirectUri,
    lastingCode,
    codes: async count => {
      const codes: string[] = []
      const lane = async () => {
        while (codes.length < count) codes.push(await code())
      }
      await Promise.all(Array.from({ length: 16 }, lane))
      return codes
    },
  }
}

async function measureWorks(
  server: OauthMeasurement['server'],
  issuer: TokenServer,
  baseline: Running,
  sampling: Sampling,
): Promise<OauthMeasurement[]> {
  const measurements: OauthMeasurement[] = []
  for (const { work, floor, script } of works) {
    const rounds: { perSecond: number; basePerSecond: number }[] = []
    for (let round = 0; round <= sampling.rounds; round++) {
      const perSecond = perSecondOf(issuer.origin, await script(issuer))
      const basePerSecond = perSecondOf(baseline.origin, postScript('/', quoted(['x'.repeat(200)]), ''))
      // The first round warms up.
      if (round > 0) rounds.push({ perSecond, basePerSecond })
    }
    measurements.push({
      work,
      server,
      ratios: rounds.map(({ perSecond, basePerSecond }) => perSecond / basePerSecond),
      perSecond: rounds.map(({ perSecond }) => perSecond),
      floor: server === 'Portico' ? floor : undefined,
    })
  }
  return measurements
}

async function measureReads(
  running: Running,
  baseline: Running,
  data: DataSet,
  sampling: Sampling,
): Promise<OauthMeasurement[]> {
  const measurements: OauthMeasurement[] = []
  const random = randomNumbers(2)
  const requests = Array.from({ length: 2_000 }, () => ({
    method: 'GET' as const,
    path: `/api/v1/posts/${1 + Math.floor(random() * data.rows)}`,
  }))
  for (const format of ['opaque', 'jwt'] as const) {
    const [tokens] = await tokensOf(await issuing(running, data.key, format), 1)
    const headers = { Authorization: `Bearer ${tokens?.access_token}` }
    const load = { requests, clients, seconds: sampling.seconds, headers }
    await requestsPerSecond(running.origin, { ...load, seconds: 1 })
    const rounds: { perSecond: number; basePerSecond: number }[] = []
    for (let round = 0; round < sampling.rounds; round++) {
      const basePerSecond = await requestsPerSecond(baseline.origin, load)
      rounds.push({ basePerSecond, perSecond: await requestsPerSecond(running.origin, load) })
    }
    measurements.push({
      work: `item by random id, ${format === 'jwt' ? 'JWT' : 'opaque'} token, from the database`,
      server: 'Portico',
      ratios: rounds.map(({ perSecond, basePerSecond }) => perSecond / basePerSecond),
      perSecond: rounds.map(({ perSecond }) => perSecond),
      floor: 0.5,
    })
  }
  return measurements
}

/** Measures W9. Needs `wrk`, whose scripts send each code once. */
export async function measureOauth(data: DataSet, sampling: Sampling): Promise<readonly OauthMeasurement[]> {
  const work = copyOf(data)
  const settings = { PORTICO_CACHE_SIZE: '0 B', PORTICO_RATE_LIMIT: 'off' }
  const servers = await Promise.all([
    startBaseline(),
    startServer(['bench/servers/provider.mjs'], {}, '/.well-known/openid-configuration'),
    startPortico(work.data.database, settings),
  ])
  const [baseline, provider, portico] = servers
  try {
    return [
      ...(await measureWorks('oidc-provider in memory', await seeded(provider), baseline, sampling)),
      ...(await measureWorks('Portico', await issuing(portico, data.key), baseline, sampling)),
      ...(await measureReads(portico, baseline, data, sampling)),
    ]
  } finally {
    await Promise.all(servers.map(server => server.stop()))
    await work.remove()
  }
}

const two = (value: number) => value.toFixed(value < 0.1 ? 3 : 2)

export function oauthTable(measurements: readonly OauthMeasurement[]): string {
  return [
    '| W9 | server | ratio, median | min–max | requests/s | floor |',
    '|---|---|---|---|---|---|',
    ...measurements.map(({ work, server, ratios, perSecond, floor }) => {
      const spread = `${two(Math.min(...ratios))}–${two(Math.max(...ratios))}`
      const rate = Math.round(median(perSecond)).toLocaleString('en')
      return `| ${work} | ${server} | ${two(median(ratios))} | ${spread} | ${rate} | ${floor === undefined ? '' : `≥ ${two(floor)}`} |`
    }),
  ].join('\n')
}
