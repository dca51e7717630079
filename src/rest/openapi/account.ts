/** The JSON operations of `/account` in the OpenAPI document: sign-in, sign-up and reset for an app's own pages. */
import type { JsonSchema } from '../../model/fields/type.ts'
import { referTo } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'

const text: JsonSchema = { type: 'string' }
const count: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const email: JsonSchema = { type: 'string', format: 'email' }
const reference = (name: string) => referTo('schemas', name)

/** All members are required, except those in `optional`. */
function members(
  properties: Readonly<Record<string, JsonSchema>>,
  ...optional: readonly string[]
): JsonSchema {
  const required = Object.keys(properties).filter(name => !optional.includes(name))
  return { type: 'object', ...(required.length > 0 && { required }), properties }
}

/** A request body: other members are refused. */
const body = (...given: Parameters<typeof members>): JsonSchema => ({
  ...members(...given),
  additionalProperties: false,
})

const described = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description })
const anyOf = (...names: readonly string[]): JsonSchema => ({ anyOf: names.map(reference) })

export const accountSchemas: { readonly [name: string]: JsonSchema } = {
  AccountUser: members({
    id: { ...count, minimum: 1 },
    name: text,
    email: text,
    role: text,
    email_verified: described({ type: 'boolean' }, 'Whether a link that was sent to the address was opened.'),
  }),
  SignedIn: members({ user: reference('AccountUser') }),
  SecondFactorNeeded: members({
    second_factor: described(text, 'Proves the first step. To be sent with a code, within a few minutes.'),
  }),
  SignInAnswer: anyOf('SignedIn', 'SecondFactorNeeded'),
  PasswordSignIn: body(
    {
      email: text,
      password: text,
      remember: described(
        { type: 'boolean', default: false },
        'Otherwise the session ends with the browser.',
      ),
    },
    'remember',
  ),
  SecondFactorSignIn: body({
    second_factor: described(text, 'From the answer to the first step.'),
    code: described(text, 'A one-time code, or a recovery code.'),
  }),
  PasskeySignIn: body({
    passkey: described(
      { type: 'object', additionalProperties: true },
      'What `navigator.credentials.get()` gave, as its `toJSON()` writes it.',
    ),
  }),
  SignInRequest: anyOf('PasswordSignIn', 'SecondFactorSignIn', 'PasskeySignIn'),
  PasskeyOptions: described(
    { type: 'object', additionalProperties: true },
    'For `PublicKeyCredential.parseRequestOptionsFromJSON`.',
  ),
  SignUpNext: described(
    { type: 'string', enum: ['sign_in', 'confirm_address'] },
    '`confirm_address`: a link was sent, which creates the account.',
  ),
  SignUpAnswer: members({
    next: reference('SignUpNext'),
    message: described(text, 'To be shown.'),
  }),
  ResetMailRequest: body({ email: text }),
  NewPassword: body({ token: described(text, 'Of the link.'), password: text }),
  ResetRequest: anyOf('ResetMailRequest', 'NewPassword'),
  ResetMailAnswer: members({
    message: described(text, 'To be shown. It does not say whether there is an account.'),
  }),
  ResetAnswer: members({
    ended: members({
      ...{ sessions: count, apps: count, keys: count, passkeys: count, identities: count },
      codes: described({ type: 'boolean' }, 'Whether one-time codes were asked for.'),
    }),
  }),
  EmptyRequest: { type: 'object', additionalProperties: false },
}

const whoMay =
  'Who may: pages of the service’s own origin. `Sec-Fetch-Site` must be `same-origin`, or, where a browser does not send it, `Origin` or else `Referer` the service’s own; otherwise the answer is 403. So no token against forged requests is needed, and API keys and access tokens do not count here.'
const attempts =
  'Attempts are counted by account and by address, together with those on the page: 429 with `Retry-After`.'

interface Described {
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly responses: { readonly [status: number]: JsonSchema }
}

const setCookie = {
  'Set-Cookie': { description: 'The session: `HttpOnly`, `SameSite=Lax`.', schema: text },
}
const signedIn = (schema: string): JsonSchema => ({
  ...json('Who is signed in, or what is still needed.', reference(schema)),
  headers: setCookie,
})

function operation(document: Document, given: Described): JsonSchema {
  const { id, summary, description, responses } = given
  return {
    operationId: document.operationId(id),
    summary,
    description,
    tags: ['account'],
    security: [{}],
    responses: { ...responses, ...errors('Account') },
  }
}

function post(document: Document, schema: JsonSchema, given: Described): JsonSchema {
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  return { post: { ...operation(document, given), requestBody } }
}

/** Name, address, password, and the fields of `users` that declare `signUp`. */
function signUpBody(document: Document): JsonSchema {
  const users = document.model.collections.get('users')
  const asked = [...(users?.fields.values() ?? [])].filter(({ signUp }) => signUp)
  const fields = asked.map(field => {
    const schema = users ? document.valueSchema(users, field) : {}
    const { description } = field
    return [field.name, description === undefined ? schema : described({ ...schema }, description)] as const
  })
  const flags = asked.filter(({ type }) => type.schema.type === 'boolean').map(({ name }) => name)
  const own = { name: { ...text, maxLength: 100 }, email, password: text }
  return body({ ...Object.fromEntries(fields), ...own }, ...flags)
}

function signUpPath(document: Document): [string, JsonSchema] {
  const schema = document.schemas.refer('sign-up', 'SignUpRequest', () => signUpBody(document))
  return [
    '/account/sign-up',
    post(document, schema, {
      id: 'sign_up',
      summary: 'Create an account',
      description: `Signs nobody in. The answer is the same whether or not the address has an account. 404 where sign-up is turned off. ${attempts} ${whoMay}`,
      responses: { 202: json('What to do next.', reference('SignUpAnswer')) },
    }),
  ]
}

function signInPath(document: Document): [string, JsonSchema] {
  return [
    '/account/sign-in',
    post(document, reference('SignInRequest'), {
      id: 'sign_in',
      summary: 'Sign in',
      description: `By address and password; then, where the account has one-time codes, by \`second_factor\` and \`code\`; or by a passkey. The answer sets the session’s cookie, which is a credential of the API for pages of the same origin. 401 where the address and password, the code or the passkey are not accepted, which does not say whether there is an account. ${attempts} ${whoMay}`,
      responses: { 200: signedIn('SignInAnswer') },
    }),
  ]
}

function resetPath(document: Document): [string, JsonSchema] {
  return [
    '/account/reset',
    post(document, reference('ResetRequest'), {
      id: 'reset_password',
      summary: 'Ask for a new password, or set it',
      description: `With \`email\`: sends a link, if there is such an account. With \`token\` and \`password\`: sets the password, ends every session, consent, API key and passkey, and signs nobody in. ${attempts} ${whoMay}`,
      responses: {
        200: json('The password is set.', reference('ResetAnswer')),
        202: json('A link was sent, if there is such an account.', reference('ResetMailAnswer')),
      },
    }),
  ]
}

export function accountPaths(document: Document): readonly [string, JsonSchema][] {
  return [
    [
      '/account',
      {
        get: operation(document, {
          id: 'get_account',
          summary: 'Say who is signed in',
          description: `By the session’s cookie. 401 where nobody is, and for other origins. With \`Accept: text/html\` it is a page. ${whoMay.replace('is 403', 'is 401')}`,
          responses: { 200: json('Who is signed in.', reference('SignedIn')) },
        }),
      },
    ],
    signInPath(document),
    [
      '/account/passkeys/get',
      post(document, reference('EmptyRequest'), {
        id: 'get_passkey_options',
        summary: 'Get the options to sign in by passkey',
        description: `For \`navigator.credentials.get()\`, with bytes in base64url. ${attempts} ${whoMay}`,
        responses: { 200: json('The options.', reference('PasskeyOptions')) },
      }),
    ],
    signUpPath(document),
    resetPath(document),
    [
      '/account/sign-out',
      post(document, reference('EmptyRequest'), {
        id: 'sign_out',
        summary: 'Sign out',
        description: `Ends the session, and the event streams and WebSockets that it has opened. Nothing happens where nobody is signed in. ${whoMay}`,
        responses: { 204: { description: 'Nobody is signed in any more.' } },
      }),
    ],
  ]
}
