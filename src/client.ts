/** `portico/client`: a typed client of a service, for browsers, Node, Deno, Bun and workers. */
import { Recorder } from './client/batch.ts'
import { type AnyListing, Collection, itemOf, listQuery, queryCall, selection } from './client/collection.ts'
import { Connection, type Send } from './client/connection.ts'
import { type FilteredSubscription, logPage, subscription } from './client/events.ts'
import { type AnyExport, exported } from './client/export.ts'
import { lazyMembers } from './client/lazy-members.ts'
import { subscribe } from './client/subscribe.ts'
import type { Client } from './client/types/client.ts'
import type { ApiSource } from './client/types/model.ts'
import type { ClientOptions, WriteOptions } from './client/types/options.ts'

export {
  type AccountClient,
  type AccountOptions,
  type AccountUser,
  createAccountClient,
  type PasswordSignIn,
  type ResetResult,
  type SignInResult,
  type SignUpResult,
  type SignUpValues,
} from './client/account.ts'
export { ApiError, type FieldFault } from './client/api-error.ts'
export { etagOf } from './client/collection.ts'
export { createSignIn, type SignIn, type SignInOptions } from './client/sign-in/sign-in.ts'
export type { ApiTypes, CollectionTypes, OperationTypes } from './client/types/api.ts'
export type {
  Client,
  CollectionClient,
  CreateOf,
  EventOf,
  ItemOf,
  UpdateOf,
  WhereOf,
} from './client/types/client.ts'
export type {
  CallOptions,
  ChangeOptions,
  ClientOptions,
  TokenSource,
  WriteOptions,
} from './client/types/options.ts'

/**
 * A client of a service: `createClient<typeof model>({ baseUrl, token })`. Its calls reject with an `ApiError`, or with the
 * reason of their signal. Throws a `TypeError` if `baseUrl` is not a valid URL.
 */
export function createClient<T extends ApiSource>(options: ClientOptions = {}): Client<T> {
  const connection = new Connection(options)
  const { send } = connection
  const members = {
    ...operations(send),
    events: Object.freeze({
      list: logPage(send),
      subscribe: (options: FilteredSubscription = {}) =>
        subscribe(connection, subscription(options), options),
    }),
    me: async (options: object = {}) =>
      itemOf(await send({ method: 'GET', path: `/me${selection(options)}`, options }), options),
    batch: (calls: BatchCalls, options: WriteOptions = {}) => batch(send, calls, options),
  }
  return lazyMembers(members, name => collection(connection, name)) as unknown as Client<T>
}

function collection(connection: Connection, name: string): object {
  const functions = new Collection(connection.send, name)
  const members = {
    ...functions,
    export: (options: AnyListing & AnyExport) =>
      exported(connection, `/${name}${listQuery(options)}`, options),
    subscribe: (options: FilteredSubscription = {}) =>
      subscribe(connection, subscription(options, name), options),
  }
  return lazyMembers(members, action => functions.action(action))
}

/** Actions without a collection, and queries. */
function operations(send: Send) {
  const actions = new Collection(send, 'actions')
  return {
    actions: lazyMembers({}, name => actions.action(name)),
    queries: lazyMembers({}, name => queryCall(send, name)),
  }
}

type BatchCalls = (tx: object, reference: Recorder['reference']) => readonly unknown[]

function batch(send: Send, calls: BatchCalls, options: WriteOptions): Promise<readonly unknown[]> {
  const recorder = new Recorder()
  const { record } = recorder
  const actions = new Collection(record, 'actions')
  const members = {
    actions: lazyMembers({}, name => recorder.trackCall(actions.action(name))),
    queries: lazyMembers({}, name => recorder.trackCall(queryCall(record, name))),
  }
  const tx = lazyMembers(members, name => {
    const functions = new Collection(record, name)
    return lazyMembers(recorder.track({ ...functions }), action =>
      recorder.trackCall(functions.action(action)),
    )
  })
  return recorder.execute(send, calls(tx, recorder.reference), options)
}
