/** The type of a service for the model of a program. */
import type { Declaration } from '../model/declaration.ts'
import type { Data, SystemData } from '../model/types.ts'
import type { UserReference } from './data.ts'
import type { Service as AnyService } from './service.ts'

/** A service whose `data` is typed by its model. */
export interface Service<M extends Declaration = Declaration> extends Omit<AnyService, 'data'> {
  /**
   * The items, read and written as the service itself, to which no rule applies. `as(user)` reads and writes as a user, given
   * by id or item, with every scope and the user's role at the time of each call. Calls reject with the API's `ApiError`.
   */
  readonly data: SystemData<M> & { as(user: UserReference): Data<M> }
}
