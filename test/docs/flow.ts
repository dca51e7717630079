/** The steps of a reader between two commands: keeping values, and completing the part in the browser. */
import { Browser } from '../identity/conformance/browser.ts'
import { authorize, type Person } from '../identity/conformance/server.ts'

type Environment = Record<string, string>

const credentialNames = ['client_id', 'client_secret', 'access_token', 'refresh_token']

/** Keeps the values of a response under the names that the pages use. */
export function storeCredentials(answer: unknown, into: Environment): void {
  if (typeof answer !== 'object' || answer === null) return
  for (const name of credentialNames) {
    const value = (answer as Readonly<Record<string, unknown>>)[name]
    if (typeof value === 'string') into[name.toUpperCase()] = value
  }
}

/** The URL that the page opens in a browser, with the known values. */
export function authorizationUrlIn(page: string, url: string, values: Environment): string {
  const [, address] = /^(http:\/\/localhost:3000\/oauth\/authorize\?\S+)$/m.exec(page) ?? []
  if (address === undefined) throw new Error('The page uses $CODE and shows no address to get one from.')
  return address
    .replace('http://localhost:3000', url)
    .replace(/\$([A-Z_]+)/g, (_, name) => values[name] ?? '')
}

/** A code, authorized by a user who allows everything. */
export async function authorizationCode(
  address: string,
  person: Pick<Person, 'email' | 'password'>,
): Promise<string> {
  const browser = new Browser(address)
  try {
    const callbackUrl = await authorize(browser, address, person)
    return callbackUrl.searchParams.get('code') ?? ''
  } finally {
    browser.close()
  }
}
