/** Operations on items of built-in collections besides reading and writing them, and items that are read within others. */
import type { Field } from '../model.ts'
import { setPasswordInput, subresources } from './administration.ts'

export interface BuiltinAction {
  /** The last segment of its path, `/{collection}/{id}/{name}`. */
  readonly name: string
  /** It is done to an item that the collection's item reaches by this relation: `/{collection}/{id}/{within}/{n}/{name}`. */
  readonly within?: string
  readonly summary: string
  /** What clients call it where its name and the item's do not make a good one. */
  readonly operation?: string
  /** The collection of the item that it answers with; left out: it answers nothing. */
  readonly answers?: string
  /** Of its body; left out: it takes none. */
  readonly input?: ReadonlyMap<string, Field>
  /** Of the item's fields, the one that whoever does it must be allowed to set too. */
  readonly asSetting?: string
  readonly description?: string
  /** Whether the answer also has the secrets that a create's answer has. */
  readonly reveals?: true
}

/** By collection. Whoever may change the item may do them. */
export const builtinActions: ReadonlyMap<string, readonly BuiltinAction[]> = new Map<
  string,
  readonly BuiltinAction[]
>([
  [
    'users',
    [
      {
        name: 'set_password',
        operation: 'set_password_of_user',
        summary: 'Set the password of an account',
        description:
          'Its sessions, tokens, connected apps and API keys end; passkeys, sign-ins with providers and one-time codes where it is to be the only way to sign in. A mail tells the person.',
        input: setPasswordInput,
        asSetting: 'disabled',
      },
    ],
  ],
  [
    'webhooks',
    [
      {
        name: 'rotate_secret',
        operation: 'rotate_webhook_secret',
        summary: 'Replace the secret; the former one signs beside it for a while',
        answers: 'webhooks',
        reveals: true,
      },
      { name: 'test', summary: 'Send a test event now', answers: 'webhook_deliveries' },
      {
        name: 'enable',
        summary: 'Resume sending, from where it stopped',
        answers: 'webhooks',
      },
      {
        name: 'redeliver',
        within: 'deliveries',
        summary: 'Send an event again',
        answers: 'webhook_deliveries',
      },
    ],
  ],
])

/** Relations whose items can be read at `/{collection}/{id}/{relation}/{n}`, by collection. */
export const nestedRelations: ReadonlyMap<string, readonly string[]> = new Map([['webhooks', ['deliveries']]])

/** Whether `/{collection}/{id}/{name}` is the path of what is built in, besides relations. */
export function isBuiltinPath(collection: string, name: string): boolean {
  const actions = builtinActions.get(collection)?.filter(({ within }) => within === undefined) ?? []
  return [...actions, ...(subresources.get(collection) ?? [])].some(one => one.name === name)
}
