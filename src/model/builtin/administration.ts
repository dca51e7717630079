/** The sessions and grants of an account, which administrators can list and end. */
import { boolean } from '../fields/boolean.ts'
import { datetime } from '../fields/datetime.ts'
import type { FieldDeclaration } from '../fields/declared.ts'
import { string } from '../fields/string.ts'
import { texts } from '../fields/texts.ts'
import type { Field } from '../model.ts'
import { plainField } from '../plain-field.ts'

/** Entries that belong to an item and are not items themselves: listed at `/{collection}/{id}/{name}`, each at `…/{name}/{key}`. */
export interface Subresource {
  readonly name: string
  readonly singular: string
  /** As a title, e.g. `the sessions of an account`. */
  readonly title: string
  /** The fields of each entry. */
  readonly fields: ReadonlyMap<string, Field>
  /** The field that identifies an entry in its path. */
  readonly key: string
  /** A field of the item that the caller must be allowed to set. */
  readonly settableField: string
  /** The effect of a deletion, for the OpenAPI document. */
  readonly deletionEffect: string
}

function fieldsOf(
  declared: Readonly<Record<string, readonly [type: FieldDeclaration, description: string]>>,
): ReadonlyMap<string, Field> {
  return new Map(
    Object.entries(declared).map(([name, [{ type }, description]]): [string, Field] => [
      name,
      plainField(name, type, description),
    ]),
  )
}

export const setPasswordInput: ReadonlyMap<string, Field> = new Map([
  ...fieldsOf({ password: [string({ max: 256 }), 'At least 10 characters, and not a common password.'] }),
  [
    'only_way',
    {
      ...plainField(
        'only_way',
        boolean().type,
        'Whether to revoke passkeys, linked providers and one-time codes too.',
      ),
      optional: true,
    },
  ],
])

export const eraseInput = fieldsOf({
  reason: [string({ max: 500 }), 'Why, for the log.'],
})

/** By collection. */
export const subresources: ReadonlyMap<string, readonly Subresource[]> = new Map([
  [
    'users',
    [
      {
        name: 'sessions',
        singular: 'session',
        title: 'the sessions of an account',
        key: 'id',
        settableField: 'disabled',
        deletionEffect: 'The browser is signed out. Connected apps keep their access.',
        fields: fieldsOf({
          id: [string(), 'The id that ends the session. It is not a credential.'],
          signed_in_at: [datetime(), 'When the person signed in.'],
          expires_at: [datetime(), 'When it expires.'],
          address: [string(), 'The IP address; empty if unknown.'],
          browser: [string({ max: 1000 }), 'The `User-Agent`; empty if unknown.'],
        }),
      },
      {
        name: 'grants',
        singular: 'grant',
        title: 'the grants of an account to apps',
        key: 'client_id',
        settableField: 'disabled',
        deletionEffect: 'All tokens of the app for the account are revoked.',
        fields: fieldsOf({
          client_id: [string(), 'The client id of the app.'],
          scopes: [texts({ type: 'string' }, { maxItems: 1000 }, {}), 'The granted scopes.'],
          allowed_at: [datetime(), 'When the person last granted access.'],
        }),
      },
    ],
  ],
])
