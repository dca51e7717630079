/** The JSON operations of `/account` in the OpenAPI document: sign-in, sign-up and reset for an app's own pages. */
import type { JsonSchema } from '../../../model/fields/type.ts'
import { schemaReference } from './components.ts'
import type { Document } from './names.ts'
import { errors, json } from './responses.ts'

const text: JsonSchema = { type: 'string' }
const count: JsonSchema = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER }
const email: JsonSchema = { type: 'string', format: 'email' }
const newPassword: JsonSchema = { type: 'string', minLength: 10, maxLength: 256 }

/** All members are required, except those in `optional`. */
function members(
  properties: Readonly<Record<string, JsonSchema>>,
  ...optional: readonly string[]
): JsonSchema {
  const required = Object.keys(properties).filter(name => !optional.includes(name))
  return { type: 'object', ...(required.length > 0 && { required }), properties }
}

/** A request body: other members are refused. */
const body = (...args: Parameters<typeof members>): JsonSchema => ({
  ...members(...args),
  additionalProperties: false,
})

const described = (schema: JsonSchema, description: string): JsonSchema => ({ ...schema, description })
const anyOf = (...names: readonly string[]): JsonSchema => ({ anyOf: names.map(schemaReference) })

export const accountSchemas: { readonly [name: string]: JsonSchema } = {
  AccountUser: members({
    id: { ...count, minimum: 1 },
    name: text,
    email: text,
    role: text,
    email_verified: described({ type: 'boolean' }, 'Whether the address was confirmed by a link sent to it.'),
  }),
  SignedIn: members({ user: schemaReference('AccountUser') }),
  SecondFactorNeeded: members({
    second_factor: described(text, 'Proves the first step. Send it with a code within a few minutes.'),
  }),
  SignInAnswer: anyOf('SignedIn', 'SecondFactorNeeded'),
  PasswordSignIn: body(
    {
      email: text,
      password: text,
      remember: described({ type: 'boolean', default: false }, 'Whether the session outlives the browser.'),
    },
    'remember',
  ),
  SecondFactorSignIn: body({
    second_factor: described(text, '`second_factor` of the response to the first step.'),
    code: described(text, 'A one-time code, or a recovery code.'),
  }),
  PasskeySignIn: body({
    passkey: described(
      { type: 'object', additionalProperties: true },
      'The result of `navigator.credentials.get()`, as its `toJSON()` returns it.',
    ),
  }),
  SignInRequest: anyOf('PasswordSignIn', 'SecondFactorSignIn', 'PasskeySignIn'),
  PasskeyOptions: described(
    { type: 'object', additionalProperties: true },
    'Options for `PublicKeyCredential.parseRequestOptionsFromJSON`.',
  ),
  SignUpNext: described(
    { type: 'string', enum: ['sign_in', 'confirm_address'] },
    '`confirm_address`: the account is created when the person opens the link in the mail.',
  ),
  SignUpAnswer: members({
    next: schemaReference('SignUpNext'),
    message: described(text, 'A message for the person.'),
  }),
  ResetMailRequest: body({ email: text }),
  NewPassword: body({ token: described(text, 'The token in the link.'), password: newPassword }),
  ResetRequest: anyOf('ResetMailRequest', 'NewPassword'),
  ResetMailAnswer: members({
    message: described(text, 'A message for the person. It does not reveal whether the account exists.'),
  }),
  ResetAnswer: members({
    ended: members({
      ...{ sessions: count, apps: count, keys: count, passkeys: count, identities: count },
      codes: described({ type: 'boolean' }, 'Whether one-time codes were turned off.'),
    }),
  }),
  EmptyRequest: { type: 'object', additionalProperties: false },
}

const whoMay =
  'Who may: pages on the service’s own origin. `Sec-Fetch-Site` must be `same-origin`; if the browser does not send it, `Origin` or else `Referer` must be the service’s own. Otherwise the response is 403. So no CSRF token is needed. API keys and access tokens are ignored here.'
const attempts =
  'Attempts are limited per account and per address, together with those on the page: too many get 429 with `Retry-After`.'

interface DescribedOperation {
  readonly id: string
  readonly summary: string
  readonly description: string
  readonly responses: { readonly [status: number]: JsonSchema }
}

const setCookie = {
  'Set-Cookie': { description: 'The session: `HttpOnly`, `SameSite=Lax`.', schema: text },
}
const signedIn = (schema: string): JsonSchema => ({
  ...json('The user who is signed in, or what is still needed.', schemaReference(schema)),
  headers: setCookie,
})

function operation(document: Document, operationParts: DescribedOperation): JsonSchema {
  const { id, summary, description, responses } = operationParts
  return {
    operationId: document.operationId(id),
    summary,
    description,
    tags: ['account'],
    security: [{}],
    responses: { ...responses, ...errors('Account') },
  }
}

function post(document: Document, schema: JsonSchema, operationParts: DescribedOperation): JsonSchema {
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  return { post: { ...operation(document, operationParts), requestBody } }
}

/** Name, address, password, and the fields of `users` that declare `signUp`. */
function signUpBody(document: Document): JsonSchema {
  const users = document.model.collections.get('users')
  const formFields = [...(users?.fields.values() ?? [])].filter(({ signUp }) => signUp)
  const fields = formFields.map(field => {
    const schema = users ? document.valueSchema(users, field) : {}
    const { description } = field
    return [field.name, description === undefined ? schema : described({ ...schema }, description)] as const
  })
  const flags = formFields.filter(({ type }) => type.schema.type === 'boolean').map(({ name }) => name)
  const builtinFields = { name: { ...text, maxLength: 100 }, email, password: newPassword }
  return body({ ...Object.fromEntries(fields), ...builtinFields }, ...flags)
}

function signUpPath(document: Document): [string, JsonSchema] {
  const schema = document.schemas.refer('sign-up', 'SignUpRequest', () => signUpBody(document))
  return [
    '/account/sign-up',
    post(document, schema, {
      id: 'sign_up',
      summary: 'Create an account',
      description: `Does not sign the person in. The response is the same whether or not the address has an account. 404 if sign-up is turned off. ${attempts} ${whoMay}`,
      responses: { 202: json('What to do next.', schemaReference('SignUpAnswer')) },
    }),
  ]
}

function signInPath(document: Document): [string, JsonSchema] {
  return [
    '/account/sign-in',
    post(document, schemaReference('SignInRequest'), {
      id: 'sign_in',
      summary: 'Sign in',
      description: `With address and password, followed by \`second_factor\` and \`code\` if the account uses one-time codes; or with a passkey. The response sets the session cookie, with which pages on the same origin may use the API. 401 if the password, the code or the passkey is wrong; this does not reveal whether the account exists. ${attempts} ${whoMay}`,
      responses: { 200: signedIn('SignInAnswer') },
    }),
  ]
}

function resetPath(document: Document): [string, JsonSchema] {
  return [
    '/account/reset',
    post(document, schemaReference('ResetRequest'), {
      id: 'reset_password',
      summary: 'Request a password reset, or set the new password',
      description: `With \`email\`: sends a link if the account exists. With \`token\` and \`password\`: sets the password and revokes every session, consent, API key and passkey. Does not sign the person in. ${attempts} ${whoMay}`,
      responses: {
        200: json('The password is set.', schemaReference('ResetAnswer')),
        202: json('A link was sent if the account exists.', schemaReference('ResetMailAnswer')),
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
          summary: 'Get the user who is signed in',
          description: `By the session cookie. 401 if nobody is signed in, and for other origins. With \`text/html\` in \`Accept\`, the response is the account page. ${whoMay.replace('is 403', 'is 401')}`,
          responses: { 200: json('The user who is signed in.', schemaReference('SignedIn')) },
        }),
      },
    ],
    signInPath(document),
    [
      '/account/passkeys/get',
      post(document, schemaReference('EmptyRequest'), {
        id: 'get_passkey_options',
        summary: 'Get the options to sign in with a passkey',
        description: `Options for \`navigator.credentials.get()\`, with bytes in base64url. ${attempts} ${whoMay}`,
        responses: { 200: json('The options.', schemaReference('PasskeyOptions')) },
      }),
    ],
    signUpPath(document),
    resetPath(document),
    [
      '/account/sign-out',
      post(document, schemaReference('EmptyRequest'), {
        id: 'sign_out',
        summary: 'Sign out',
        description: `Ends the session, with the event streams and WebSockets that it opened. Does nothing if nobody is signed in. ${whoMay}`,
        responses: { 204: { description: 'Signed out.' } },
      }),
    ],
  ]
}
