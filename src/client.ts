/** `portico/client`: a typed client of a service, for browsers, Node, Deno, Bun and workers. */
import type { Client } from './client/types/client.ts'
import type { ApiSource } from './client/types/model.ts'
import type { ClientOptions } from './client/types/options.ts'

export { ApiError, type FieldFault } from './client/api-error.ts'
export type { ApiTypes, CollectionTypes, OperationTypes } from './client/types/api.ts'
export type { Client, CollectionClient } from './client/types/client.ts'
export type {
  CallOptions,
  ChangeOptions,
  ClientOptions,
  TokenSource,
  WriteOptions,
} from './client/types/options.ts'

/**
 * `createClient<typeof model>({ baseUrl, token })`. Throws a `TypeError` for an address that is none.
 */
export function createClient<T extends ApiSource>(options: ClientOptions = {}): Client<T> {
  throw new TypeError(`not built yet: ${Object.keys(options)}`)
}
