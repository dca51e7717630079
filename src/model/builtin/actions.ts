/** Actions on items of built-in collections, and items that are read within others. */
import type { Field } from '../model.ts'
import { eraseInput, setPasswordInput, subresources } from './administration.ts'

export interface BuiltinAction {
  /** The last segment of its path, `/{collection}/{id}/{name}`. */
  readonly name: string
  /** The action applies to an item that this relation leads to: `/{collection}/{id}/{within}/{n}/{name}`. */
  readonly within?: string
  readonly summary: string
  /** The operation id. Omitted: `{name}_{singular}`. */
  readonly operation?: string
  /** The collection of the item in the response. Omitted: the response is empty. */
  readonly returns?: string
  /** The fields of its body. Omitted: it has no body. */
  readonly input?: ReadonlyMap<string, Field>
  /** A field of the item that the caller must also be allowed to set. */
  readonly settableField?: string
  /** The caller must also be allowed to delete the item. Where no caller can, there is no such action. */
  readonly deletes?: true
  readonly description?: string
  /** Whether the response contains the same secrets as the response to a create. */
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
        settableField: 'disabled',
      },
      {
        name: 'erase',
        summary: 'Delete an account, with everything that belongs to the person',
        description:
          'Deletes what the relations of the model delete with an account, however much that is. The account cannot be used from now on; what remains after the response is deleted in the background. 409 where items that must stay refer to it. The person is notified by mail, and the reason is written to the log.',
        input: eraseInput,
        settableField: 'disabled',
        deletes: true,
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
        returns: 'webhooks',
        reveals: true,
      },
      { name: 'test', summary: 'Send a test event now', returns: 'webhook_deliveries' },
      {
        name: 'enable',
        summary: 'Resume sending where it stopped',
        returns: 'webhooks',
      },
      {
        name: 'redeliver',
        within: 'deliveries',
        summary: 'Send an event again',
        returns: 'webhook_deliveries',
      },
    ],
  ],
])

/** Relations whose items can be read at `/{collection}/{id}/{relation}/{n}`, by collection. */
export const nestedRelations: ReadonlyMap<string, readonly string[]> = new Map([['webhooks', ['deliveries']]])

/** The last segment of the path of a person's data, below the user. */
export const personalDataPath = 'personal_data'

/** Whether `/{collection}/{id}/{name}` is the path of a built-in action, a subresource, or a person's data. */
export function isBuiltinPath(collection: string, name: string): boolean {
  if (collection === 'users' && name === personalDataPath) return true
  const actions = builtinActions.get(collection)?.filter(({ within }) => within === undefined) ?? []
  return [...actions, ...(subresources.get(collection) ?? [])].some(({ name: builtin }) => builtin === name)
}
