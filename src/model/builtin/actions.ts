/** Actions on items of built-in collections, and items that are read within others. */
import type { Field } from '../model.ts'
import { setPasswordInput, subresources } from './administration.ts'

export interface BuiltinAction {
  /** The last segment of its path, `/{collection}/{id}/{name}`. */
  readonly name: string
  /** The action applies to an item that this relation leads to: `/{collection}/{id}/{within}/{n}/{name}`. */
  readonly within?: string
  readonly summary: string
  /** The operation id. Omitted: `{name}_{singular}`. */
  readonly operation?: string
  /** The collection of the item in the answer. Omitted: the answer is empty. */
  readonly answers?: string
  /** The fields of its body. Omitted: it has no body. */
  readonly input?: ReadonlyMap<string, Field>
  /** A field of the item that the caller must be allowed to set as well. */
  readonly asSetting?: string
  readonly description?: string
  /** Whether the answer contains the same secrets as the answer to a create. */
  readonly reveals?: true
}

/** By collection. A caller needs the right to update the item. */
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
          'Revokes the sessions, tokens, connected apps and API keys of the account; with `only_way`, also passkeys, linked providers and one-time codes. The person is notified by mail.',
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
        summary: 'Replace the secret; the previous one also signs for a while',
        answers: 'webhooks',
        reveals: true,
      },
      { name: 'test', summary: 'Send a test event now', answers: 'webhook_deliveries' },
      {
        name: 'enable',
        summary: 'Resume sending where it stopped',
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

/** Whether `/{collection}/{id}/{name}` is the path of a built-in action or subresource. */
export function isBuiltinPath(collection: string, name: string): boolean {
  const actions = builtinActions.get(collection)?.filter(({ within }) => within === undefined) ?? []
  return [...actions, ...(subresources.get(collection) ?? [])].some(one => one.name === name)
}
